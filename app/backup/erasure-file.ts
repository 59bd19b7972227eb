import { readFile } from 'node:fs/promises'
import { readLedgerEntry } from '../../contracts/clinical/erasure-ledger.ts'
import type { SignedErasure } from '../../platform/vault/vault-rows.ts'
import type { Vault } from '../../platform/vault/vault.ts'

/** An entry of a file that `erasures export` wrote. */
export interface ListedErasure {
  /** The file and the line, for the operator. */
  readonly place: string
  readonly entry: SignedErasure
}

/** @throws Error that names the line of something else than an entry, or if there is none: an export that fails leaves an empty file */
export async function readErasureFile(file: string): Promise<readonly ListedErasure[]> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  const listed = lines.flatMap((line, index) => {
    if (line.trim() === '') return []
    const [place, entry] = [`line ${index + 1} of ${file}`, readLedgerEntry(line)]
    if (entry === undefined) throw new Error(`${place} is not an entry of the ledger of erasures`)
    return [{ place, entry }]
  })
  if (listed.length === 0)
    throw new Error(
      `${file} has no entry of the ledger of erasures, as an export leaves it that failed. If nobody was erased, use --accept-lost-erasures`,
    )
  return listed
}

/**
 * Enters all erasures into a restored vault, and destroys the keys. The next start begins each erasure again that the log
 * lacks.
 * @throws Error that names the line of an entry that the vault did not sign. None is entered then
 */
export async function enterErasures(vault: Vault, listed: readonly ListedErasure[]): Promise<void> {
  const unsigned = listed.find(({ entry }) => !vault.isSigned(entry))
  if (unsigned !== undefined) throw new Error(`${unsigned.place} is not signed by the vault of this backup`)
  for (const { entry } of listed) await vault.enter(entry)
}
