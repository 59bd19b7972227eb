import { describe, expect, test } from 'vitest'
import { bodySites, isBodySite } from '../../../contracts/clinical/body-sites.ts'

/** Verhoeff's check digit: the dihedral group of order 10, and the permutation by place. */
const product = (one: number, other: number): number => {
  const turned = (one + (one < 5 ? other : -other + 10)) % 5
  return turned + (one < 5 === other < 5 ? 0 : 5)
}
const permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]
const permuted = (digit: number, times: number): number =>
  times === 0 ? digit : permuted(permutation[digit] ?? 0, times - 1)

/** Whether the last digit of a SNOMED CT identifier fits the others. */
function isChecked(code: string): boolean {
  return (
    code
      .split('')
      .toReversed()
      .reduce((sum, digit, place) => product(sum, permuted(Number(digit), place % 8)), 0) === 0
  )
}

describe('the catalogue of body sites', () => {
  test('contains at least 30 sites, each once, and a site before its parts', () => {
    expect(bodySites.length).toBeGreaterThanOrEqual(30)
    for (const member of ['id', 'code', 'display'] as const)
      expect(new Set(bodySites.map((site) => site[member])).size).toBe(bodySites.length)
    bodySites.forEach(({ parent_id }, place) => {
      if (parent_id !== null) expect(bodySites.slice(0, place).map(({ id }) => id)).toContain(parent_id)
    })
    expect(bodySites.filter(({ parent_id }) => parent_id === null).map(({ display }) => display)).toEqual([
      'Head and neck',
      'Trunk',
      'Upper limb',
      'Lower limb',
    ])
  })

  test('has SNOMED CT codes with valid check digits', () => {
    expect(['22298006', '71388002', '22298007'].map(isChecked)).toEqual([true, true, false])
    expect(bodySites.filter(({ code }) => !isChecked(code))).toEqual([])
  })

  test('keeps the ids that assessments contain', () => {
    expect(bodySites.find(({ code }) => code === '77568009')).toMatchObject({
      display: 'Back',
      id: '1a2e7917-3ed0-5500-b57a-4cf5d47e02c5',
    })
    expect(bodySites.every(({ id }) => isBodySite(id) && isBodySite(id.toUpperCase()))).toBe(true)
    expect(isBodySite('0190b0a0-0000-7000-8000-000000000001')).toBe(false)
  })
})
