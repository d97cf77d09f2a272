/** What providers call their offerings, where that is not `<provider> API`; by their names as events state them. */
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
