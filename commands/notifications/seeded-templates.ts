import type { NotificationTemplate } from '../../streams/notification-template/aggregate.ts'
import type { TemplateContent } from './save-template.ts'

interface Text {
  readonly subject: string
  /** Paragraphs of the mail, in HTML. */
  readonly mail: readonly string[]
  /** Left out where the message is about a patient. */
  readonly chat?: string
}

interface Seed extends Pick<NotificationTemplate, 'code' | 'category' | 'phi'> {
  readonly texts: Readonly<Record<'en-GB' | 'de-DE', Text>>
}

/**
 * The platform's templates, each with the name of its event (`emergency_access` without the domain). Their variables are
 * members of that event, and the link to unsubscribe. Subjects of messages about patients have no variables, and show
 * nothing about the patient.
 */
const seeds: readonly Seed[] = [
  {
    code: 'assessment.completed',
    category: 'clinical',
    phi: true,
    texts: {
      'en-GB': {
        subject: 'An assessment is complete',
        mail: [
          'The assessment <b>{{assessment_id}}</b> was completed at {{ended_at}}.',
          'Case: {{case_id}}<br>Patient: {{patient_id}}',
          'Sign in to see the result. A clinician must confirm it before anyone acts on it.',
        ],
      },
      'de-DE': {
        subject: 'Eine Beurteilung ist abgeschlossen',
        mail: [
          'Die Beurteilung <b>{{assessment_id}}</b> wurde am {{ended_at}} abgeschlossen.',
          'Fall: {{case_id}}<br>Patient: {{patient_id}}',
          'Melden Sie sich an, um das Ergebnis zu sehen. Vor jeder Entscheidung muss eine Fachperson es bestätigen.',
        ],
      },
    },
  },
  {
    code: 'assessment.failed',
    category: 'clinical',
    phi: true,
    texts: {
      'en-GB': {
        subject: 'An assessment could not be completed',
        mail: [
          'The assessment <b>{{assessment_id}}</b> failed at {{ended_at}}. There is no result.',
          'Reason: {{error_code}}<br>Patient: {{patient_id}}{{#if case_id}}<br>Case: {{case_id}}{{/if}}',
          'Sign in to see what to do. New images may be needed.',
        ],
      },
      'de-DE': {
        subject: 'Eine Beurteilung konnte nicht abgeschlossen werden',
        mail: [
          'Die Beurteilung <b>{{assessment_id}}</b> ist am {{ended_at}} fehlgeschlagen. Es gibt kein Ergebnis.',
          'Grund: {{error_code}}<br>Patient: {{patient_id}}{{#if case_id}}<br>Fall: {{case_id}}{{/if}}',
          'Melden Sie sich an, um das weitere Vorgehen zu sehen. Möglicherweise sind neue Bilder nötig.',
        ],
      },
    },
  },
  {
    code: 'consent.withdrawn',
    category: 'clinical',
    phi: true,
    texts: {
      'en-GB': {
        subject: 'A consent was withdrawn',
        mail: [
          'The patient {{patient_id}} withdrew the consent <b>{{consent_type_code}}</b> at {{timestamp}}.',
          'Processing that needs this consent must stop.',
        ],
      },
      'de-DE': {
        subject: 'Eine Einwilligung wurde widerrufen',
        mail: [
          'Der Patient {{patient_id}} hat am {{timestamp}} die Einwilligung <b>{{consent_type_code}}</b> widerrufen.',
          'Verarbeitungen, die diese Einwilligung brauchen, müssen enden.',
        ],
      },
    },
  },
  {
    code: 'users.created',
    category: 'transactional',
    phi: false,
    texts: {
      'en-GB': {
        subject: 'Your account was created',
        mail: [
          'An account was created for you at {{timestamp}}.',
          'If you did not expect this, tell your administrator.',
        ],
        chat: 'A user was created: {{userId}} ({{userType}}).',
      },
      'de-DE': {
        subject: 'Ihr Konto wurde angelegt',
        mail: [
          'Am {{timestamp}} wurde ein Konto für Sie angelegt.',
          'Wenn Sie das nicht erwartet haben, wenden Sie sich an Ihre Administration.',
        ],
        chat: 'Ein Benutzer wurde angelegt: {{userId}} ({{userType}}).',
      },
    },
  },
  {
    code: 'emergency_access',
    category: 'operational',
    phi: false,
    texts: {
      'en-GB': {
        subject: 'A record was opened in an emergency',
        mail: [
          'At {{at}} a record was opened for treatment in an emergency.',
          'Access: <b>{{access_id}}</b><br>Client: {{client_id}}{{#if user_id}}<br>User: {{user_id}}{{/if}}',
          'The access log shows whose record it was. Check whether there was an emergency.',
        ],
        chat: 'Emergency access {{access_id}} at {{at}} by client {{client_id}}{{#if user_id}}, user {{user_id}}{{/if}}. The access log shows whose record it was.',
      },
      'de-DE': {
        subject: 'Eine Akte wurde im Notfall geöffnet',
        mail: [
          'Am {{at}} wurde eine Akte für eine Behandlung im Notfall geöffnet.',
          'Zugriff: <b>{{access_id}}</b><br>Client: {{client_id}}{{#if user_id}}<br>Benutzer: {{user_id}}{{/if}}',
          'Das Zugriffsprotokoll zeigt, wessen Akte es war. Prüfen Sie, ob ein Notfall vorlag.',
        ],
        chat: 'Notfallzugriff {{access_id}} am {{at}} durch Client {{client_id}}{{#if user_id}}, Benutzer {{user_id}}{{/if}}. Das Zugriffsprotokoll zeigt, wessen Akte es war.',
      },
    },
  },
  {
    code: 'webhook.endpoint.failing',
    category: 'operational',
    phi: false,
    texts: {
      'en-GB': {
        subject: 'A webhook endpoint is failing',
        mail: [
          'Deliveries to the webhook subscription <b>{{subscription_id}}</b> have failed since {{failing_since}}.',
          'If none succeeds, it is disabled at {{disable_at}}. {{percent}} % of that time have passed.',
        ],
        chat: 'Webhook {{subscription_id}} has been failing since {{failing_since}}. Without a success it is disabled at {{disable_at}}.',
      },
      'de-DE': {
        subject: 'Ein Webhook-Empfänger antwortet nicht',
        mail: [
          'Zustellungen an das Webhook-Abonnement <b>{{subscription_id}}</b> schlagen seit {{failing_since}} fehl.',
          'Ohne erfolgreiche Zustellung wird es am {{disable_at}} abgeschaltet. {{percent}} % dieser Zeit sind vorbei.',
        ],
        chat: 'Webhook {{subscription_id}} schlägt seit {{failing_since}} fehl. Ohne Erfolg wird er am {{disable_at}} abgeschaltet.',
      },
    },
  },
  {
    code: 'webhook.endpoint.disabled',
    category: 'operational',
    phi: false,
    texts: {
      'en-GB': {
        subject: 'A webhook endpoint was disabled',
        mail: [
          'The webhook subscription <b>{{subscription_id}}</b> was disabled at {{disabled_at}}.',
          'Reason: {{reason}}. It gets no deliveries until it is enabled again.',
        ],
        chat: 'Webhook {{subscription_id}} was disabled at {{disabled_at}}: {{reason}}.',
      },
      'de-DE': {
        subject: 'Ein Webhook-Empfänger wurde abgeschaltet',
        mail: [
          'Das Webhook-Abonnement <b>{{subscription_id}}</b> wurde am {{disabled_at}} abgeschaltet.',
          'Grund: {{reason}}. Es erhält keine Zustellungen, bis es wieder eingeschaltet wird.',
        ],
        chat: 'Webhook {{subscription_id}} wurde am {{disabled_at}} abgeschaltet: {{reason}}.',
      },
    },
  },
]

const unsubscribe = { 'en-GB': 'Unsubscribe from these messages', 'de-DE': 'Diese Nachrichten abbestellen' } as const

/** Every seeded template, as the start of the platform saves it. */
export const seededTemplates: readonly TemplateContent[] = seeds.flatMap(({ texts, ...seed }) =>
  (['en-GB', 'de-DE'] as const).flatMap((locale) => {
    const { subject, mail, chat } = texts[locale]
    const shared = { ...seed, orgId: null, locale }
    const bodyTemplate = htmlOf(mail, locale)
    return [
      { ...shared, channel: 'email', subject, bodyTemplate } as const,
      ...(chat === undefined ? [] : [{ ...shared, channel: 'slack', subject: null, bodyTemplate: chat } as const]),
    ]
  }),
)

function htmlOf(paragraphs: readonly string[], locale: keyof typeof unsubscribe): string {
  const lines = [
    ...paragraphs.map((paragraph) => `<p>${paragraph}</p>`),
    `{{#if unsubscribeUrl}}<p><a href="{{unsubscribeUrl}}">${unsubscribe[locale]}</a></p>{{/if}}`,
  ]
  return `<!doctype html>\n<html lang="${locale}">\n<body>\n${lines.join('\n')}\n</body>\n</html>\n`
}
