/** A text of the API, in which backticks enclose names. */
export const CodeText = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))}</>
)
