import { describe, expect, it } from 'vitest'
import { comparePositions, formatPosition, parsePosition, startOfLog } from '../../../platform/kit/positions.ts'

const early = { commit: 100n, prepare: 80n }
const late = { commit: 100n, prepare: 90n }
const after = { commit: 101n, prepare: 1n }

describe('positions', () => {
  it('are compared by both numbers, the commit position first', () => {
    const shuffled = [after, late, startOfLog, early]
    expect(shuffled.toSorted(comparePositions)).toEqual([startOfLog, early, late, after])
    expect(comparePositions(early, { ...early })).toBe(0)
    expect(comparePositions(late, early)).toBeGreaterThan(0)
  })

  it('are parsed from their own text form only', () => {
    expect(parsePosition(formatPosition(late))).toEqual(late)
    for (const text of ['', '1', '1/', '/1', '-1/1', '1/1 ', '1/x', '123456789012345678901/1'])
      expect(parsePosition(text)).toBeUndefined()
  })
})
