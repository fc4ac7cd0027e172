/** The bundler hands an HTML file over as its text. */
declare module '*.html' {
  const text: string
  export default text
}
