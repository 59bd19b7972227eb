import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it } from 'vitest'
import { createOpenedTexts } from '../../../engine/store/opened-texts.ts'
import { openBytes, sealBytes } from '../../../platform/kit/sealed-bytes.ts'

const newKey = () => createSecretKey(randomBytes(32))
const sealed = (key: KeyObject, text: string, place = 'patient-1') =>
  Buffer.concat([Buffer.from(`${place}\0`), sealBytes(key, place, Buffer.from(text))])

let opens: number
let opened: ReturnType<typeof createOpenedTexts>
beforeEach(() => {
  opens = 0
  opened = createOpenedTexts((...parameters) => {
    opens += 1
    return openBytes(...parameters)
  })
})

describe('opened texts', () => {
  it('are opened once for a key, and again for the same key that was read again', () => {
    const key = newKey()
    const placed = sealed(key, '"Müller\0"')
    expect([opened(key, placed), opened(key, Buffer.from(placed)), opens]).toEqual(['"Müller\0"', '"Müller\0"', 1])
    expect([opened(createSecretKey(key.export()), placed), opens]).toEqual(['"Müller\0"', 2])
  })

  it('do not open a ciphertext that was moved or changed, nor with the key of somebody else', () => {
    const key = newKey()
    const placed = sealed(key, '"Ada"')
    opened(key, placed)
    const moved = Buffer.concat([Buffer.from('patient-2\0'), placed.subarray('patient-1\0'.length)])
    const changed = Buffer.from(placed)
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1)
    for (const other of [moved, changed]) expect(() => opened(key, other)).toThrow('authenticate')
    expect(() => opened(newKey(), placed)).toThrow('authenticate')
    expect(() => opened(key, Buffer.from('no zero byte'))).toThrow('a sealed column holds something else')
  })

  it('are bounded for each key, by their bytes', () => {
    const key = newKey()
    const large = sealed(key, 'x'.repeat(2_048))
    opened(key, large)
    opened(key, large)
    expect(opens).toBe(2)
    const some = Array.from({ length: 9 }, (_, number) => sealed(key, `${number}`.repeat(200)))
    for (const each of some) opened(key, each)
    const before = opens
    for (const each of some.slice(-1)) opened(key, each)
    expect(opens).toBe(before)
    for (const each of some.slice(0, 1)) opened(key, each)
    expect(opens).toBe(before + 1)
  })

  it('end with their key', async () => {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    if (typeof collect !== 'function') throw new Error('no garbage collection')
    const key = (() => {
      const used = newKey()
      opened(used, sealed(used, '"Ada"'))
      return new WeakRef(used)
    })()
    // A reference that was read is kept until the next turn.
    await turn()
    collect()
    expect(key.deref()).toBeUndefined()
  })
})
