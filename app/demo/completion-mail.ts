import type { Client } from 'clinical-assessment-client/source'
import { actorContext, at, textAt } from './members.ts'
import { until, type Step } from './steps.ts'

export interface CompletionMailOptions {
  readonly step: Step
  readonly client: Client
  readonly orgId: string
  readonly patientId: string
}

/** Gives the patient an account with an address, and subscribes the patient to the ends of assessments. */
export async function subscribePatient({ step, client, orgId, patientId }: CompletionMailOptions): Promise<string> {
  const headers = { 'x-actor-context': actorContext(orgId, ['users:admin']) }
  const roleId = await step('create a role for patients', async () => {
    const body = { organisationId: orgId, name: 'Patient', permissions: [] }
    const { status, data } = await client.request('POST', '/v1/admin/roles', { body, headers })
    return [String(status), data.id]
  })
  const email = await step('create an account for the patient', async () => {
    const person = { email: 'ada@example.org', displayName: 'Ada Example', userType: 'patient' } as const
    const body = { ...person, roleId, patientAccount: { clinicalPatientId: patientId } }
    const { status, data } = await client.request('POST', '/v1/admin/users', { body, headers })
    return [`${status}, ${data.email}`, person.email]
  })
  await step('subscribe the patient to completions', async () => {
    const { status, data } = await client.request('POST', '/v1/notifications/admin/subscriptions', {
      body: {
        eventType: 'assessment.completed',
        templateCode: 'assessment.completed',
        recipientRule: { type: 'patient', path: 'patient_id' },
      },
    })
    return [`${status}, template ${data.templateCode}`, undefined]
  })
  return email
}

/** The mail about an assessment, and the address of its page in the mail box. */
export interface CompletionMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly address: string
}

/** The address of the mail box ends in a secret path, so that a URL relative to it would lose the secret. */
export async function mailAbout(id: string, email: string, mailbox: string): Promise<CompletionMail> {
  return until('no mail came', async () => {
    const mails: unknown = await (await fetch(`${mailbox}/email`)).json()
    if (!Array.isArray(mails)) throw new Error('the mail box returned no list')
    const mail: unknown = mails.find((one) => at(one, 'to') === email && textAt(one, 'text').includes(id))
    if (mail === undefined) return undefined
    const [to, subject, text] = [textAt(mail, 'to'), textAt(mail, 'subject'), textAt(mail, 'text')]
    return { to, subject, text, address: `${mailbox}${textAt(mail, 'page')}` }
  })
}
