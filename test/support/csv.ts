/** The fields of CSV by RFC 4180, read character by character. Throws for a text that the RFC does not allow. */
export const parseCsv = (text: string): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  const quoted = (): string => {
    let field = ''
    for (at += 1; ; at += 1) {
      if (at >= text.length) throw new Error('a quoted field has no end')
      if (text[at] !== '"') field += text[at]
      else if (text[at + 1] === '"') {
        field += '"'
        at += 1
      } else break
    }
    at += 1
    return field
  }
  const plain = (): string => {
    const from = at
    while (at < text.length && !/[",\r\n]/.test(text[at] ?? '')) at += 1
    return text.slice(from, at)
  }
  while (at < text.length) {
    row.push(text[at] === '"' ? quoted() : plain())
    if (text[at] === ',') at += 1
    else if (text.startsWith('\r\n', at)) {
      at += 2
      rows.push(row)
      row = []
      continue
    } else throw new Error(`expected a comma or the end of the line at ${at}`)
    // A line that ends with a comma has one more field, which is empty.
    if (text.startsWith('\r\n', at)) {
      row.push('')
      rows.push(row)
      row = []
      at += 2
    }
  }
  if (row.length > 0) throw new Error('the last line has no end')
  return rows
}

/** The rows of CSV as objects by the names in its first line. */
export const csvRows = (text: string): Record<string, string>[] => {
  const [names = [], ...rows] = parseCsv(text)
  return rows.map((row) => {
    if (row.length !== names.length) throw new Error(`expected ${names.length} fields, got ${row.length}`)
    return Object.fromEntries(names.map((name, at) => [name, row[at] ?? '']))
  })
}
