import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['dist/**', 'node_modules/**', '.tap/**', '.wrangler/**'] }),
  {
    rules: {
      '@stylistic/max-len': ['error', { code: 150, ignoreUrls: true, ignoreTemplateLiterals: true, ignoreStrings: true, ignoreRegExpLiterals: true }]
    }
  },
  {
    // What runs on an agent's machine runs on the Node that is there. What it is written in is lowered by the build.
    files: ['client/**'],
    rules: {
      'n/no-unsupported-features/node-builtins': ['error', { version: '>=18.0.0' }],
      'n/no-unsupported-features/es-builtins': ['error', { version: '>=18.0.0' }]
    }
  },
  {
    // Standard output carries MCP or the asked-for output and nothing else.
    files: ['schemas/**', 'lib/**', 'plugins/**', '*.ts'],
    rules: { 'no-console': 'error' }
  }
]
