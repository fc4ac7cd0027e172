/** The OpenAPI document of this release: made from the routes and their schemas beforehand, see scripts/openapi.ts. */
export async function describeApi (version: string): Promise<object> {
  const { default: document } = await import('../schemas/openapi.json', { with: { type: 'json' } })
  return { ...document, info: { ...document.info, version } }
}
