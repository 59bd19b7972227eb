import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { namedKinds, recordKind, sealKind } from '../../platform/vault/inventory.ts'
import { signingPurposes } from '../../platform/kit/key-vault.ts'

const guide = readFileSync(new URL('../../docs/keys.md', import.meta.url), 'utf8')

test('the guide names the purpose of each key that `keys list` shows', () => {
  const [, rows = ''] = /\n## What each key is for\n([^]*?)\n## /.exec(guide) ?? []
  const named = rows.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z-]+)`/g)])
  const counted = ['subject', 'webhook', 'webhook-signing']
  const listed = namedKinds.map((kind) => (kind === sealKind ? 'seal' : kind))
  expect(listed).toContain(recordKind)
  expect(named.map(([, name = '']) => name).toSorted()).toEqual([...signingPurposes, ...listed, ...counted].toSorted())
})
