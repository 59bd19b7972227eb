/** The bytes of a canonical base64 text. Undefined for any other text, which `Buffer.from` would accept. */
export function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return text !== '' && bytes.toString('base64') === text ? bytes : undefined
}
