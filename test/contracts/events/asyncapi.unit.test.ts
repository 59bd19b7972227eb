import { expect, it } from 'vitest'
import { Check } from 'typebox/value'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import asyncApiSchema from '@asyncapi/specs/schemas/3.0.0-without-$id.json' with { type: 'json' }
import { asyncApiDocument, exampleOf } from '../../../contracts/events/asyncapi.ts'
import { eventPage } from '../../../contracts/events/event-pages.ts'
import { channelStreams } from '../../../streams/channels/channel-streams.ts'
import { envelope } from '../../../engine/aggregates/channel-stream.ts'

const document = asyncApiDocument('1.0.0')
const events = channelStreams.flatMap(({ events }) => Object.values(events))

it('is valid AsyncAPI 3.0', () => {
  const ajv = new Ajv({ strict: false, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(asyncApiSchema)
  expect(validate(document) ? [] : validate.errors).toEqual([])
  expect(validate({ ...document, channels: { x: { address: 1 } } })).toBe(false)
})

it('has a target for each reference', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) =>
    path.split('/'),
  )
  expect(references.length).toBeGreaterThan(events.length)
  for (const path of references) {
    const target = path.reduce<unknown>((value, name) => Object(value)[name], document)
    expect(target).toBeDefined()
  }
})

it('has every event of every channel, with the envelope and open to new members', () => {
  expect(Object.keys(document.components.messages)).toEqual(events.map(({ type }) => type))
  expect(Object.values(document.channels).map(({ address }) => address)).toEqual(channelStreams.map(({ name }) => name))
  for (const { payload } of Object.values(document.components.messages)) {
    expect(payload).toMatchObject({ required: expect.arrayContaining(Object.keys(envelope)) })
    expect(JSON.stringify(payload)).not.toContain('additionalProperties')
  }
})

it.each(events)('has an example of $type that fits its schema', ({ schema }) => {
  expect(Check(schema, exampleOf(schema))).toBe(true)
})

it.each(Object.entries(document.components.messages))('%s: the payload accepts its example only', (_, message) => {
  const ajv = new Ajv({ strict: false })
  formats.default(ajv)
  const validate = ajv.compile(Object(message.payload))
  for (const { payload } of message.examples) {
    expect(validate(payload) ? [] : validate.errors).toEqual([])
    expect(validate({ ...Object(payload), event_id: 'other' })).toBe(false)
  }
})

it('has no address of a server', () => {
  expect(JSON.stringify(document)).not.toMatch(/https?:\/\/(?!www\.apache\.org)/)
})

it('has a page with each event, without scripts', () => {
  const page = eventPage()
  for (const { type } of events) expect(page).toContain(`<code>${type}</code>`)
  expect(page).not.toContain('<script')
})
