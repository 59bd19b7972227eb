import { actorContext, at, textAt, type ApiClient } from './api-client.ts'
import { expectStatus, until, type Step } from './steps.ts'

export interface CompletionMailOptions {
  readonly step: Step
  readonly api: ApiClient
  readonly orgId: string
  readonly patientId: string
}

/** Gives the patient an account with an address, and subscribes the patient to the ends of assessments. */
export async function subscribePatient({ step, api, orgId, patientId }: CompletionMailOptions): Promise<string> {
  const admin = { 'x-actor-context': actorContext(orgId, ['users:admin']) }
  const users = '/v1/user-management/admin'
  const roleId = await step('create a role for patients', async () => {
    const body = { organisationId: orgId, name: 'Patient', permissions: [] }
    const answer = await expectStatus(201, api.call(`${users}/roles`, { body, headers: admin }))
    return ['201', textAt(answer.body, 'id')]
  })
  const email = await step('create an account for the patient', async () => {
    const person = { email: 'ada@example.org', displayName: 'Ada Example', userType: 'patient' }
    const body = { ...person, roleId, patientAccount: { clinicalPatientId: patientId } }
    const answer = await expectStatus(201, api.call(`${users}/users`, { body, headers: admin }))
    return [`201, ${textAt(answer.body, 'email')}`, person.email]
  })
  await step('subscribe the patient to completions', async () => {
    const recipientRule = { type: 'patient', path: 'patient_id' }
    const body = { eventType: 'assessment.completed', templateCode: 'assessment.completed', recipientRule }
    const answer = await expectStatus(201, api.call('/v1/notifications/admin/subscriptions', { body }))
    return [`201, template ${textAt(answer.body, 'templateCode')}`, undefined]
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
