import { describe, expect, test } from 'vitest'
import { reachabilityChecks, requireMailServer } from '../../app/notification-senders.ts'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { unconfiguredSender } from '../../processes/adapters/notification-sender.ts'

describe('the reachability of the providers', () => {
  function healthOf(areReachable: { mail: boolean; chat: boolean }) {
    let time = Date.parse('2026-03-01T10:00:00.000Z')
    const asked: string[] = []
    const sender = (name: 'mail' | 'chat') => ({
      ...unconfiguredSender(name, ''),
      isReachable: async () => {
        asked.push(name)
        return areReachable[name]
      },
    })
    const health = createHealth({ profile: 'production' })
    health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'ok' }) })
    const senders = { mails: sender('mail'), chats: sender('chat') }
    for (const check of reachabilityChecks(senders, () => new Date(time))) health.register(check)
    return { health, asked, pass: (ms: number) => (time += ms) }
  }

  test('gates the readiness of the notification service and no other', async () => {
    const { health } = healthOf({ mail: false, chat: true })
    expect(await health.report('ready', 'notifications')).toMatchObject({
      status: 'failing',
      checks: [
        { name: 'database', status: 'ok' },
        {
          name: 'mail_provider',
          status: 'failing',
          detail: 'the provider does not answer, or refuses our credentials',
        },
        { name: 'chat_provider', status: 'ok' },
      ],
    })
    const others = [await health.report('ready'), await health.report('ready', 'webhooks')]
    expect(others.map(({ status, checks }) => [status, checks.length])).toEqual([
      ['ok', 1],
      ['ok', 1],
    ])
    expect((await health.report('full')).status).toBe('failing')
  })

  test('is looked up at most every ten seconds', async () => {
    const reachable = { mail: true, chat: true }
    const { health, asked, pass } = healthOf(reachable)
    const status = async () => (await health.report('ready', 'notifications')).status
    expect([await status(), await status()]).toEqual(['ok', 'ok'])
    reachable.chat = false
    pass(9_999)
    expect([await status(), asked]).toEqual(['ok', ['mail', 'chat']])
    pass(1)
    expect([await status(), asked.length]).toEqual(['failing', 4])
  })
})

test.each<[string, Environment, boolean]>([
  ['production without a mail server', { APP_ENV: 'production' }, false],
  [
    'production with a mail server',
    { APP_ENV: 'production', SMTP_URL: 'smtp://mail.test', SMTP_FROM: 'no-reply@clinic.test' },
    true,
  ],
  [
    'production with SES',
    { APP_ENV: 'production', MAIL_TRANSPORT: 'ses', SES_REGION: 'eu-west-1', SMTP_FROM: 'no-reply@clinic.test' },
    true,
  ],
  ['development without a mail server', {}, true],
])('%s', (_case, env, isAllowed) => {
  const require = () => requireMailServer(loadConfiguration(env))
  if (isAllowed) expect(require).not.toThrow()
  else expect(require).toThrow(/^SMTP_URL and SMTP_FROM, or MAIL_TRANSPORT=ses, must be set when APP_ENV is production/)
})
