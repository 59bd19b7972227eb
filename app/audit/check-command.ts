import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObject } from '../../contracts/audit/offline/canonical-json.ts'
import { checkManifest, fileFault, type ManifestFile } from '../../contracts/audit/offline/manifest.ts'
import { checkProvenance } from '../../contracts/audit/offline/check-provenance.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { checkProof, type ProofRefusal, type TrustedKeys } from '../../platform/transparency-log/check-proof.ts'
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

/** Documents and manifests. A document of provenance has some megabytes at most. */
const mostBytes = 64 * 1024 * 1024

/** Checks a file offline: a proof of an event, a document of provenance, or a manifest with the files beside it. */
export async function checkFile({ file, key, witnesses, jwks }: CheckOrder): Promise<Verdict> {
  const keys = {
    log: [readKey('--key', key)],
    witnesses: witnesses.map((vkey) => readKey('--witness', vkey)),
  }
  const text = await textOf(file)
  if (text === undefined) return { code: 2, text: `the file ${file} cannot be read` }
  const content = jsonOf(text)
  if (!isObject(content)) return proofVerdict(text, keys)
  if (jwks === undefined) throw new ConfigurationError('a signed document needs --jwks FILE')
  const keySet = jsonOf((await textOf(jwks)) ?? '')
  if (keySet === undefined) return { code: 2, text: `the file ${jwks} cannot be read as a JSON Web Key Set` }
  if ('files' in content) return manifestVerdict(content, keySet, dirname(file))
  const { faults, ...checked } = checkProvenance(content, { ...keys, documents: keySet })
  return faults.length === 0
    ? proven(checked)
    : refused(
        faults.map(
          ({ kind, event_id, detail }) => `${kind}${event_id === null ? '' : ` of event ${event_id}`}: ${detail}`,
        ),
      )
}

function proofVerdict(text: string, keys: TrustedKeys): Verdict {
  const checked = checkProof(text, keys)
  return 'refusal' in checked ? { code: 1, text: refusals[checked.refusal] } : proven(checked)
}

async function manifestVerdict(content: object, keySet: unknown, folder: string): Promise<Verdict> {
  const manifest = checkManifest(content, keySet)
  if ('refusal' in manifest) return refused([`${manifest.refusal}: the manifest`])
  const faults: string[] = []
  let bytes = 0
  for (const file of manifest.files) {
    const fault = fileFault(file, await measured(join(folder, file.path)))
    if (fault !== undefined) faults.push(`${fault.kind}: ${fault.path}`)
    // The export says so itself, and is as it was written.
    else if (file.received_sha256 !== undefined) faults.push(`changed-before-the-export: ${file.path}`)
    bytes += file.bytes
  }
  if (faults.length > 0) return refused(faults)
  const { files, leftOut } = manifest
  return proven({ files: files.length, bytes, ...(leftOut.length === 0 ? {} : { left_out: leftOut }) })
}

/** Reads a file in pieces: an export may have gigabytes. Undefined if it cannot be read. */
async function measured(path: string): Promise<Pick<ManifestFile, 'sha256' | 'bytes'> | undefined> {
  const digest = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of createReadStream(path)) {
      digest.update(chunk)
      bytes += chunk.length
    }
  } catch {
    return undefined
  }
  return { sha256: digest.digest('hex'), bytes }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return (await stat(file)).size > mostBytes ? undefined : await readFile(file, 'utf8')
  } catch {
    return undefined
  }
}

function proven(checked: unknown): Verdict {
  return { code: 0, text: JSON.stringify(checked, null, 2) }
}

function refused(faults: readonly string[]): Verdict {
  return { code: 1, text: faults.map((fault) => `FAULT ${fault}`).join('\n') }
}
