/** The form in which unique names are compared: in NFC, without surrounding blanks. They are stored as they were given. */
export function comparedName(name: string): string {
  return name.normalize('NFC').trim()
}
