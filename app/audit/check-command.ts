import { readFile } from 'node:fs/promises'
import { checkProof, type ProofRefusal } from '../../platform/transparency-log/check-proof.ts'
import type { CheckOrder } from './orders.ts'
import { readKey } from './read-key.ts'

export interface Verdict {
  /** 0 proven, 1 refused, 2 the file cannot be read. */
  readonly code: number
  /** For standard output if the code is 0, else for standard error. */
  readonly text: string
}

const refusals: Readonly<Record<ProofRefusal, string>> = {
  'not-a-proof': 'this is no proof of an event',
  'unknown-key': 'the checkpoint is not signed with the key of --key',
  'forged-signature': 'the signature of the checkpoint is wrong: it was altered, or signed by somebody else',
  'not-in-the-log': 'the event is not in the log that the checkpoint stands for',
  'not-witnessed': 'a witness of --witness has not signed the checkpoint',
  'forged-witness': 'the signature of a witness is wrong',
}

/** Checks a file with a proof, offline. */
export async function checkFile({ file, key, witnesses }: CheckOrder): Promise<Verdict> {
  const keys = {
    log: [readKey('--key', key)],
    witnesses: witnesses.map((vkey) => readKey('--witness', vkey)),
  }
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return { code: 2, text: `the file ${file} cannot be read` }
  const checked = checkProof(text, keys)
  if ('refusal' in checked) return { code: 1, text: refusals[checked.refusal] }
  return { code: 0, text: JSON.stringify(checked, null, 2) }
}
