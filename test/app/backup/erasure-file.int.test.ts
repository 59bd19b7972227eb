import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { enterErasures, readErasureFile } from '../../../app/backup/erasure-file.ts'
import { restoreBackup } from '../../../app/backup/restore.ts'
import { exportErasures } from '../../../app/erasures/run.ts'
import { ledgerText, readLedgerEntry } from '../../../contracts/clinical/erasure-ledger.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { linesIn } from '../../../platform/backup/index-lines.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { copyVault, openVaultRestore } from '../../../platform/vault/vault-copy.ts'
import { VaultRows } from '../../../platform/vault/vault-rows.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { newContext } from '../../engine/store/fixtures.ts'
import { newKeys, plantBackup } from '../../platform/backup/planted-place.ts'
import { ids, patientFact } from '../../streams/facts.ts'
import { givenInstallation, type InstalledProcess } from '../../support/installation.ts'
import { freshVault } from '../../support/postgres.ts'

const installation = givenInstallation()
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'erasure-file-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function registered({ store }: InstalledProcess): Promise<string> {
  const patientId = randomUUID()
  const fact = patientFact('PatientRegistered', { patientId, organisationId: ids.org })
  await store.append(patients.of(ids.org, patientId), 'no_stream', [fact], { ...newContext(), orgId: ids.org })
  return patientId
}

/** A process over the same log, and a copy of the vault as it is now. */
async function restored(): Promise<InstalledProcess> {
  const copy = await freshVault()
  installation.afterTest(() => copy.drop())
  const masterKeys = parseMasterKeys(installation.masterKeyText)
  const restore = await openVaultRestore(copy.url, masterKeys)
  for await (const { name, lines } of copyVault(installation.database.vaultUrl))
    await restore.table(name, linesIn(lines))
  await restore.close()
  const vault = await openVault({ url: copy.url, masterKeys })
  installation.afterTest(() => vault.close())
  const store = await openEventStore({ url: installation.node.url, catalogue, vault })
  installation.afterTest(() => store.close())
  return { vault, store }
}

async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, lines.join('\n'))
  return file
}

/** Each line of `erasures export`. */
async function exportOf(vault: Vault): Promise<string[]> {
  const lines: string[] = []
  for await (const entry of vault.erasures()) lines.push(ledgerText(entry))
  return lines
}

test('a person who was erased after the backup stays erased in its copy, and nobody else is', async () => {
  const original = await installation.startProcess()
  const [erased, other] = [await registered(original), await registered(original)]
  const copy = await restored()
  await original.vault.eraseSubject(ids.org, erased)
  const file = await fileOf('exported', await exportOf(original.vault))

  await enterErasures(copy.vault, await readErasureFile(file))
  const stateOf = async (id: string) => (await copy.store.load(patients.of(ids.org, id))).state
  expect(await stateOf(erased)).toMatchObject({ person: null })
  expect(await stateOf(other)).toMatchObject({ person: { givenName: 'Canary' } })
  // The next start begins the erasure again, by the ledger.
  expect(await exportOf(copy.vault)).toEqual(await exportOf(original.vault))
})

test('a line that the vault did not sign is named, and no line is entered', async () => {
  const original = await installation.startProcess()
  const [first, second] = [randomUUID(), randomUUID()]
  const copy = await restored()
  const entries = [
    await original.vault.eraseSubject(ids.org, first),
    await original.vault.eraseSubject(ids.org, second),
  ]
  const forged = entries.map((entry, index) => (index === 0 ? entry : { ...entry, subjectId: randomUUID() }))
  const file = await fileOf('forged', forged.map(ledgerText))
  const before = await exportOf(copy.vault)
  await expect(readErasureFile(file).then((listed) => enterErasures(copy.vault, listed))).rejects.toThrow(
    `line 2 of ${file} is not signed`,
  )
  expect(await exportOf(copy.vault)).toEqual(before)
})

test('an export of the ledger that fails in the middle prints nothing, and a whole one prints each entry', async () => {
  const { vault } = await installation.startProcess()
  for (let left = 3; left > 0; left -= 1) await vault.eraseSubject(ids.org, randomUUID())
  const env = {
    DATABASE_URL: 'postgres://127.0.0.1/not-asked',
    VAULT_DATABASE_URL: installation.database.vaultUrl,
    MASTER_KEYS: installation.masterKeyText,
  }
  const printed: string[] = []
  const entries = await exportOf(vault)
  const pages = vi.spyOn(VaultRows.prototype, 'erasuresAfter')
  pages.mockImplementationOnce(async () => entries.slice(0, 1).flatMap((line) => readLedgerEntry(line) ?? []))
  pages.mockRejectedValueOnce(new Error('the database is away'))
  await expect(exportErasures(env, (text) => void printed.push(text))).rejects.toThrow('the database is away')
  expect(printed).toEqual([])
  pages.mockRestore()
  await exportErasures(env, (text) => void printed.push(text))
  expect(printed).toEqual([entries.join('\n')])
})

test.each(['', '\n\n'])('a file of %j is refused: an export that failed leaves it', async (content) => {
  const file = await fileOf('empty', [content])
  await expect(readErasureFile(file)).rejects.toThrow(`${file} has no entry of the ledger of erasures`)
})

test('a restore with a file that is cut names the line, and writes nothing', async () => {
  const { vault } = await installation.startProcess()
  const line = ledgerText(await vault.eraseSubject(ids.org, randomUUID()))
  const file = await fileOf('cut', [line, '', line.slice(0, -9), ''])
  const [keys, place] = [newKeys('backup-1'), folderPlace(join(folder, 'place'))]
  await plantBackup(place, keys, ['one'])
  const order = { place: '', id: undefined, folder: join(folder, 'copy'), acceptsLostErasures: false, isJson: false }
  const env = { MASTER_KEYS: installation.masterKeyText }
  await expect(restoreBackup(env, place, keys, { ...order, erasures: file })).rejects.toThrow(
    `line 3 of ${file} is not an entry of the ledger of erasures`,
  )
  await expect(access(order.folder)).rejects.toThrow()
})
