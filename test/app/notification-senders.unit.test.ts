import { expect, test } from 'vitest'
import { requireMailServer } from '../../app/notification-senders.ts'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'

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
