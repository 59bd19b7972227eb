import { readFile } from 'node:fs/promises'
import type { JWK } from 'jose'
import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import { ReceiptRejectedError, verifyReceipt, type ReceiptRejection } from '../contracts/consent/receipt.ts'
import { jsonOf } from '../platform/kit/json-reading.ts'

export interface VerifyReceiptOrder {
  /** A compact JWS, or an answer of the receipt route that contains one. */
  readonly file: string
  /** A JSON Web Key Set, as `/v1/auth/.well-known/jwks.json` returns it. */
  readonly jwks: string
}

/** Exit codes of `verify receipt`: 0 for a genuine receipt, 2 for wrong arguments. */
export const receiptExitCodes = {
  unreadable: 1,
  'no-receipt': 3,
  'unknown-key': 4,
  altered: 5,
} as const satisfies Record<ReceiptRejection | 'unreadable', number>

export interface Verdict {
  readonly code: number
  /** For standard output if the code is 0, else for standard error. */
  readonly text: string
}

const KeySet = Type.Object({ keys: Type.Array(Type.Object({ kty: Type.String(), kid: Type.Optional(Type.String()) })) })
const Answer = Type.Object({ receipt: Type.String() })

/** Checks a file with a receipt against a key set in another file, offline. */
export async function verifyReceiptFile({ file, jwks }: VerifyReceiptOrder): Promise<Verdict> {
  const texts = await Promise.all([file, jwks].map((path) => readFile(path, 'utf8').catch(() => undefined)))
  const [receipt, keys] = [receiptIn(texts[0]), keysIn(texts[1])]
  if (receipt === undefined) return { code: receiptExitCodes.unreadable, text: `the receipt ${file} cannot be read` }
  if (keys === undefined)
    return { code: receiptExitCodes.unreadable, text: `${jwks} cannot be read as a JSON Web Key Set` }
  try {
    return { code: 0, text: JSON.stringify(await verifyReceipt(receipt, keys), null, 2) }
  } catch (error) {
    if (error instanceof ReceiptRejectedError) return { code: receiptExitCodes[error.reason], text: error.message }
    throw error
  }
}

function receiptIn(text: string | undefined): string | undefined {
  const answer = text === undefined ? undefined : jsonOf(text)
  return Check(Answer, answer) ? answer.receipt : text?.trim()
}

function keysIn(text: string | undefined): readonly JWK[] | undefined {
  const set = text === undefined ? undefined : jsonOf(text)
  return Check(KeySet, set) ? set.keys : undefined
}
