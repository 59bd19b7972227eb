import { describe, expect, it } from 'vitest'
import { configurationTable, loadConfiguration } from '../../../platform/configuration/configuration.ts'

const password = '0123456789abcdef'
const consumersOf = (value: string) => loadConfiguration({ EVENTSTORE_CONSUMERS: value }).eventStoreConsumers

describe('EVENTSTORE_CONSUMERS', () => {
  it('is empty by default, and secret', () => {
    expect(loadConfiguration({}).eventStoreConsumers).toEqual([])
    expect(configurationTable().find(({ name }) => name === 'EVENTSTORE_CONSUMERS')).toMatchObject({ isSecret: true })
  })

  it('names accounts, percent-encoded, with blanks and empty places between them', () => {
    expect(consumersOf(`billing:${password}, lab%20eu@clinic.test:p%3Ass%2Cwo%3Ard+%25%C3%B6-${password},`)).toEqual([
      { login: 'billing', password },
      { login: 'lab eu@clinic.test', password: `p:ss,wo:rd+%ö-${password}` },
    ])
  })

  it('takes a password of 16 characters, however many bytes they have', () => {
    expect(consumersOf(`billing:${encodeURIComponent('😀'.repeat(16))}`)).toHaveLength(1)
    expect(() => consumersOf(`billing:${encodeURIComponent('😀'.repeat(15))}`)).toThrow('fewer than 16 characters')
  })

  it.each([
    ['billing', 'pair 1 needs exactly one colon; %3A is one in a password'],
    [`billing:${password}:more`, 'pair 1 needs exactly one colon; %3A is one in a password'],
    [`billing:${password},:${password}`, 'pair 2 has no login'],
    [`billing:${password},lab:%E0%A4%A`, 'pair 2 is not percent-encoded'],
    [`%:${password}`, 'pair 1 is not percent-encoded'],
    [`billing:short`, 'pair 1 has a password of fewer than 16 characters (login billing)'],
    [`billing:`, 'pair 1 has a password of fewer than 16 characters (login billing)'],
    [`billing:${password}%00`, 'pair 1 has a password with a control character (login billing)'],
    [`bill%3Aing:${password}`, 'pair 1 has a login with a colon, a control character or a blank at its ends'],
    [`bill%0Aing:${password}`, 'pair 1 has a login with a colon, a control character or a blank at its ends'],
    [`%20platform:${password}`, 'pair 1 has a login with a colon, a control character or a blank at its ends'],
    [`$admins:${password}`, 'pair 1 has the login $admins, which is reserved'],
    [`%24ops:${password}`, 'pair 1 has the login $ops, which is reserved'],
    [`admin:${password}`, 'pair 1 has the login admin, which is reserved'],
    [`billing:${password},ops:${password}`, 'pair 2 has the login ops, which is reserved'],
    [`platform:${password}`, 'pair 1 has the login platform, which is reserved'],
    [`Platform:${password}`, 'pair 1 has the login Platform, which is reserved'],
    [`billing:${password},billing:another-${password}`, 'pair 2 has the login billing of another pair'],
    [Array.from({ length: 101 }, (_, n) => `c${n}:${password}`).join(), '101 pairs are more than 100'],
  ])('%s is refused with the place and the fault', (value, fault) => {
    expect(() => consumersOf(value)).toThrow(
      `EVENTSTORE_CONSUMERS must be login:password pairs, separated by commas; ${fault}`,
    )
  })

  it('no message contains a password', () => {
    for (const value of [`billing:sesame`, `sesame`, `sesame%`, `billing:sesame%`, `admin:sesame-${password}`]) {
      expect(() => consumersOf(value)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('sesame') }),
      )
    }
  })

  it('production refuses passwords that are certainly not random, and development warns', () => {
    const env = { EVENTSTORE_CONSUMERS: `billing:${'ab'.repeat(8)}` }
    const rule = 'EVENTSTORE_CONSUMERS must have random passwords'
    expect(loadConfiguration(env).warnings).toEqual([expect.stringContaining(rule)])
    expect(() => loadConfiguration({ ...env, APP_ENV: 'production' })).toThrow(rule)
    expect(loadConfiguration({ EVENTSTORE_CONSUMERS: `billing:${password}` }).warnings).toEqual([])
  })
})
