import type { CompiledTemplate, TemplateSource, Variables } from '../../platform/templates/rendering.ts'

export interface PhiViolation {
  readonly rule: 'phi-on-chat' | 'phi-in-subject' | 'unknown-variable-in-phi'
  /** JSON pointer into the template, or into the variables. */
  readonly path: string
  readonly detail: string
}

/** What is wrong with a template for personal health information. */
export function phiViolations(
  { phi, channel }: Pick<TemplateSource, 'channel'> & { readonly phi: boolean },
  { variables: used, subjectVariables }: CompiledTemplate,
  variables: Variables,
): readonly PhiViolation[] {
  if (!phi) return []
  const unknown = used.filter((name) => !Object.hasOwn(variables, name))
  const pointerOf = (name: string) => `/variables/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return [
    ...(channel === 'slack'
      ? [{ rule: 'phi-on-chat', path: '/channel', detail: 'is never sent to a chat' } as const]
      : []),
    ...subjectVariables.map(
      (name) => ({ rule: 'phi-in-subject', path: '/subject', detail: `prints or tests ${name}` }) as const,
    ),
    ...unknown.map(
      (name) =>
        ({
          rule: 'unknown-variable-in-phi',
          path: pointerOf(name),
          detail: 'is used by the template, and no sample variable',
        }) as const,
    ),
  ]
}
