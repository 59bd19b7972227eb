import { Type, type Static } from 'typebox'
import { localeDocumented, Nullable, Uuid } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import { noneOf } from '../../platform/kit/documented-rules.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { canonicalLocale, defaultLocale } from './find-template.ts'

const Locale = Type.String({
  minLength: 2,
  maxLength: 64,
  description: `BCP 47; default ${defaultLocale}`,
  documented: localeDocumented,
})
const codePattern = '^[a-z0-9][a-z0-9._-]{0,99}$'
/** Of new templates. `requireCode` checks the pattern. */
export const TemplateCode = Type.String({ minLength: 1, maxLength: 255, documented: { pattern: codePattern } })

/** Members that distinguish the templates of one code. */
export const variantMembers = { channel: Type.Optional(NotificationChannel), locale: Type.Optional(Locale) }

const withoutControls = { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$' }
const content = {
  ...variantMembers,
  category: NotificationCategory,
  phi: Type.Boolean({ description: 'Messages made from it contain personal health information' }),
  subject: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: 998, documented: withoutControls }), { description: 'Mails only' }),
  ),
  bodyTemplate: Type.String({
    minLength: 1,
    description: 'Handlebars source, at most 64 KiB and 1,500 tokens: HTML for mails, plain text for chat',
  }),
}

const subjectOnChat = noneOf({
  required: ['channel', 'subject'],
  properties: { channel: { enum: ['slack'] }, subject: { type: 'string' } },
})

export const PutTemplateBody = Type.Object(
  {
    ...content,
    orgId: Type.Optional(Nullable(Uuid, { description: 'Null, by platform clients only: the default of all' })),
  },
  { $id: 'PutTemplateBody', additionalProperties: false, documented: subjectOnChat },
)

export const RenderPreviewBody = Type.Object(
  {
    variables: Type.Record(Type.String(), Type.Unknown(), { description: 'Sample variables' }),
    template: Type.Optional(
      Type.Object(content, {
        additionalProperties: false,
        description: 'A draft, in place of the stored template',
        documented: subjectOnChat,
      }),
    ),
  },
  { $id: 'RenderPreviewBody', additionalProperties: false },
)

type Variant = Pick<Static<typeof PutTemplateBody>, 'channel' | 'locale'>

/** A mail in the default locale, unless the request names another variant. */
export function variantOf({ channel = 'email', locale = defaultLocale }: Variant, pointer: string) {
  const canonical = canonicalLocale(locale)
  if (canonical === undefined) throw invalidMember(pointer, 'must be a BCP 47 language tag', 'locale')
  return { channel, locale: canonical }
}

export function requireCode(code: string): string {
  if (!new RegExp(codePattern).test(code))
    throw invalidMember(
      '/code',
      'must have 1 to 100 of a-z, 0-9, ., _ and -, beginning with a letter or digit',
      'pattern',
    )
  return code
}
