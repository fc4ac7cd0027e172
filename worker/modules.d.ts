/** The bundler hands an HTML file over as its text. */
declare module '*.html' {
  const text: string
  export default text
}

/** And a file that is text already. */
declare module '*.txt' {
  const text: string
  export default text
}
