import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto'
import { strictBase64 } from './strict-base64.ts'

/** The algorithms of signature lines, by the byte that names them in a key. */
export const signatureTypes = { ed25519: 0x01, ed25519Cosignature: 0x04, mlDsa44Cosignature: 0x06 } as const
export type SignatureType = (typeof signatureTypes)[keyof typeof signatureTypes]

/** A public key of C2SP signed-note. */
export interface VerifierKey {
  readonly name: string
  /** Eight hex digits. Together with the name it identifies key and algorithm. */
  readonly id: string
  readonly type: SignatureType
  readonly publicKey: KeyObject
}

export interface NoteSignature {
  readonly name: string
  readonly id: string
  /** Without the id of the key. */
  readonly bytes: Buffer
}

export interface SignedNote {
  /** Ends with a newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** A text is no signed note, or no key. */
export class NoteError extends Error {
  override readonly name = 'NoteError'
}

const keyForms = {
  [signatureTypes.ed25519]: { spki: '302a300506032b6570032100', bytes: 32 },
  [signatureTypes.ed25519Cosignature]: { spki: '302a300506032b6570032100', bytes: 32 },
  [signatureTypes.mlDsa44Cosignature]: { spki: '30820532300b06096086480165030403110382052100', bytes: 1312 },
} as const

const mostNoteCharacters = 1_000_000
const mostSignatures = 64
const separator = '\n\n'
const dash = '\u2014 '

/** A name of a key or an origin: no spaces, no plus, no control characters. */
export function isKeyName(name: string): boolean {
  return name !== '' && !/[\s+]/u.test(name)
}

/** The key with this name and these bytes. Its id is the recommended hash of both. */
export function verifierKey(name: string, type: SignatureType, publicKey: Uint8Array): VerifierKey {
  const form = keyForms[type]
  if (!isKeyName(name)) throw new NoteError('the name of a key has no spaces and no plus')
  if (publicKey.length !== form.bytes) throw new NoteError('the key has another length than its type')
  const der = Buffer.concat([Buffer.from(form.spki, 'hex'), publicKey])
  return {
    name,
    id: keyId(name, Buffer.concat([Buffer.of(type), publicKey])),
    type,
    publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }),
  }
}

/** The key of a text `<name>+<id>+<base64>`. @throws NoteError */
export function parseVkey(vkey: string): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/u.exec(vkey) ?? []
  const bytes = strictBase64(encoded)
  const type = Object.values(signatureTypes).find((each) => each === bytes?.[0])
  if (bytes === undefined || type === undefined) throw new NoteError('not a key of the form <name>+<id>+<base64>')
  const key = verifierKey(name, type, bytes.subarray(1))
  if (key.id !== id) throw new NoteError('the id of the key does not fit its name and bytes')
  return key
}

export function formatVkey({ name, id, type, publicKey }: VerifierKey): string {
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-keyForms[type].bytes)
  return `${name}+${id}+${Buffer.concat([Buffer.of(type), raw]).toString('base64')}`
}

function keyId(name: string, typed: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex').slice(0, 8)
}

/** @throws NoteError */
export function parseNote(note: string): SignedNote {
  const at = note.lastIndexOf(separator)
  if (
    note.length > mostNoteCharacters ||
    at < 0 ||
    !note.endsWith('\n') ||
    note.includes('\ufffd') ||
    Buffer.from(note).some((byte) => byte < 0x20 && byte !== 0x0a)
  )
    throw new NoteError('not a signed note')
  const lines = note.slice(at + separator.length, -1).split('\n')
  if (lines.length > mostSignatures) throw new NoteError('a note with too many signatures')
  return { text: note.slice(0, at + 1), signatures: lines.map(parseSignatureLine) }
}

/** @throws NoteError */
export function parseSignatureLine(line: string): NoteSignature {
  const [name = '', encoded = '', ...rest] = line.startsWith(dash) ? line.slice(dash.length).split(' ') : []
  const bytes = strictBase64(encoded)
  if (!isKeyName(name) || bytes === undefined || bytes.length < 5 || rest.length > 0)
    throw new NoteError('not a line of a signature')
  return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) }
}

export function formatNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map((each) => `${signatureLine(each)}\n`).join('')}`
}

export function signatureLine({ name, id, bytes }: NoteSignature): string {
  return `${dash}${name} ${Buffer.concat([Buffer.from(id, 'hex'), bytes]).toString('base64')}`
}

/** Signs a text as the owner of an Ed25519 key. */
export function signNote(text: string, { name, id }: VerifierKey, privateKey: KeyObject): NoteSignature {
  return { name, id, bytes: sign(null, Buffer.from(text), privateKey) }
}

/** Whether the key made this signature of the text. */
export function isSignedBy({ type, publicKey }: VerifierKey, text: string, { bytes }: NoteSignature): boolean {
  return type === signatureTypes.ed25519 && verify(null, Buffer.from(text), publicKey, bytes)
}

/** The line of a note that claims to be of this key. */
export function signatureOf(note: SignedNote, { name, id }: VerifierKey): NoteSignature | undefined {
  return note.signatures.find((each) => each.name === name && each.id === id)
}
