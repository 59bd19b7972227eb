import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { writeFolder } from '../../../app/export/export-folder.ts'

async function* bytes(text: string) {
  yield Buffer.from(text)
}

async function* files() {
  yield { path: 'records/cases/one.json', chunks: bytes('{}') }
  yield { path: 'records/cases/two.json', chunks: bytes('[]') }
  yield { path: 'manifest.json', chunks: bytes('null') }
}

test('an export is on the disk when it is reported: each file, and each folder that names one', async () => {
  const place = await mkdtemp(join(tmpdir(), 'export-'))
  const handle = await open(place)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  try {
    expect(await writeFolder(join(place, '.', 'new', 'patient'), files())).toEqual({ files: 3, bytes: 8 })
    // Three files; cases, records, the folder itself, and those above it up to the first that was there.
    expect(sync).toHaveBeenCalledTimes(8)
    expect(await readFile(join(place, 'new', 'patient', 'records', 'cases', 'two.json'), 'utf8')).toBe('[]')
  } finally {
    sync.mockRestore()
    await rm(place, { recursive: true })
  }
})
