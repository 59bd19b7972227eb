import type { Vault } from '../../platform/vault/vault.ts'

/**
 * Wraps everything with the newest master key.
 * @param say receives the progress, as a line for people
 * @returns how many secrets were wrapped anew
 * @throws Error if a process that runs has another newest master key: it could not read what is wrapped anew
 */
export async function rewrap(vault: Vault, say: (line: string) => void): Promise<number> {
  const others = await vault.otherMasterKeys()
  if (others.length > 0)
    throw new Error(
      `a process that runs wraps with master key ${others.join(', ')}: give all processes the new MASTER_KEYS first, and start them again`,
    )
  return vault.rewrap((done, total) => say(`${done} of ${total} secrets`))
}
