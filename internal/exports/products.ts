/** Product names of providers where they differ from `<provider> API`, by their one name. */
export const PRODUCTS: Readonly<Record<string, string>> = {
  openai: 'OpenAI API',
  anthropic: 'Claude API',
  'azure.ai.openai': 'Azure OpenAI Service',
  'azure.ai.inference': 'Azure AI Foundry',
  'aws.bedrock': 'Amazon Bedrock',
  'gcp.vertex_ai': 'Vertex AI',
  'gcp.gemini': 'Gemini API',
  mistral: 'Mistral AI API',
  groq: 'GroqCloud',
}
