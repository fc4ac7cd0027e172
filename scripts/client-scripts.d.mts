/** The texts of `hook.mjs` and `watch.mjs`. */
export function clientScripts (): Promise<{ hook: string, watch: string }>
