import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataFolder } from '../../../embedded/children/data-folder-lock.ts'
import { freePort, portFreed } from '../../../embedded/children/free-port.ts'
import { lastingSettings } from '../../../embedded/children/lasting-ports.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lasting-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const WANTED = { ports: ['postgres', 'provider'], secrets: ['postgres'] } as const

test('chooses ports and secrets once and uses them again', async () => {
  const first = await lastingSettings(folder, WANTED)
  const second = await lastingSettings(folder, WANTED)

  expect(second).toEqual(first)
  expect(first.ports.postgres).not.toBe(first.ports.provider)
  expect(first.secrets.postgres).toMatch(/^[\w-]{43}$/)
  expect((await stat(join(folder, 'embedded.json'))).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['embedded.json'])
})

test('adds a part of a later version without changing the others', async () => {
  const first = await lastingSettings(folder, WANTED)
  const grown = await lastingSettings(folder, { ports: ['postgres', 'mailbox'], secrets: ['postgres', 'mailbox'] })
  const again = await lastingSettings(folder, WANTED)

  expect(grown.ports.postgres).toBe(first.ports.postgres)
  expect(grown.ports.mailbox).not.toBe(first.ports.provider)
  expect(again).toEqual(first)
})

test('a damaged file stops the start instead of changing every port', async () => {
  await writeFile(join(folder, 'embedded.json'), '{"ports": {"postgres": "543')
  await expect(lastingSettings(folder, WANTED)).rejects.toThrow('embedded.json is damaged')
  expect(await readFile(join(folder, 'embedded.json'), 'utf8')).toBe('{"ports": {"postgres": "543')
})

test('the error for a taken port names the part and the port', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0

  await expect(portFreed('embedded postgres', port, 0)).rejects.toThrow(
    `embedded postgres cannot start: port ${port} on 127.0.0.1 is taken (EADDRINUSE)`,
  )
  setTimeout(() => server.close(), 200)
  await expect(portFreed('embedded postgres', port)).resolves.toBeUndefined()
})

test('a free port can be bound', async () => {
  await expect(portFreed('demo', await freePort(), 0)).resolves.toBeUndefined()
})

test('a data folder has one holder at a time; a waiting process gets it when the holder ends', async () => {
  const first = await lockDataFolder(folder)
  await expect(lockDataFolder(folder, 0)).rejects.toThrow('in use by another running platform')

  setTimeout(() => first.release(), 200)
  const second = await lockDataFolder(folder)
  await expect(lockDataFolder(folder, 0)).rejects.toThrow('in use')
  second.release()
})

test.each([0o777, 0o1777, 0o770, 0o702])(
  'refuses a data folder of mode %o, because other users can write to it',
  async (mode) => {
    await chmod(folder, mode)
    await expect(lockDataFolder(folder, 0)).rejects.toThrow(`the data folder ${folder} is writable by other users`)
    expect(await readdir(folder)).toEqual([])
  },
)

test('refuses a data folder of another user, because the owner can replace its content', async () => {
  // Only root can give a folder away. For other users, a folder of root belongs to another user.
  const isRoot = process.geteuid?.() === 0
  if (isRoot) await chown(folder, 65_534, 65_534)
  const foreign = isRoot ? folder : '/usr'
  await expect(lockDataFolder(foreign, 0)).rejects.toThrow(
    `the data folder ${foreign} belongs to another user (uid ${isRoot ? 65_534 : 0}`,
  )
  expect(await readdir(foreign)).not.toContain('lock')
})

test('only the owner can access the lock of a data folder', async () => {
  const held = await lockDataFolder(folder)
  expect((await stat(join(folder, 'lock'))).mode & 0o777).toBe(0o600)
  held.release()
})

test('returns a port only once, also when nothing listens on it yet', async () => {
  const given = await Promise.all(Array.from({ length: 300 }, () => freePort()))
  expect(new Set(given).size).toBe(given.length)
})
