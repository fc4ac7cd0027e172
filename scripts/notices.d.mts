/** As much of esbuild's metafile as the notices need. */
export interface Bundle { outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }> }

export function noticesOf (metafile: Bundle, root: string): Promise<string>
