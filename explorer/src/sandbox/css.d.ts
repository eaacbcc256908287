/** The build makes a text of a style sheet that a script imports. */
declare module '*.css' {
  const text: string
  export default text
}
