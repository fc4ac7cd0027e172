import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['dist/**', 'node_modules/**', '.tap/**'] }),
  {
    rules: {
      '@stylistic/max-len': ['error', { code: 150, ignoreUrls: true, ignoreTemplateLiterals: true, ignoreStrings: true, ignoreRegExpLiterals: true }]
    }
  },
  {
    // Standard output carries MCP or the asked-for output and nothing else.
    files: ['schemas/**', 'lib/**', 'plugins/**', '*.ts'],
    rules: { 'no-console': 'error' }
  }
]
