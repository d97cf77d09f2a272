/** Product names of providers where they differ from `<provider> API`, by the provider name used in events. */
export const PRODUCTS: Readonly<Record<string, string>> = {
  openai: 'OpenAI API',
  anthropic: 'Claude API',
  azure: 'Azure OpenAI Service',
  azure_openai: 'Azure OpenAI Service',
  bedrock: 'Amazon Bedrock',
  'aws.bedrock': 'Amazon Bedrock',
  vertex_ai: 'Vertex AI',
  'gcp.vertex_ai': 'Vertex AI',
  gemini: 'Gemini API',
  'gcp.gemini': 'Gemini API',
  mistral: 'Mistral AI API',
  groq: 'GroqCloud',
}
