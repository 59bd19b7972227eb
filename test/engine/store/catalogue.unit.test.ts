import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { categoryOf, createCatalogue } from '../../../engine/store/catalogue.ts'
import { defineEvent, Phi } from '../../../engine/store/schema.ts'

const name = Phi(Type.String())
const Opened = defineEvent('VisitOpened', Type.Object({ patientId: Type.String(), name }), { subject: 'patientId' })

describe('the catalogue', () => {
  test('returns each type, its category and its PHI members', () => {
    const catalogue = createCatalogue([{ category: 'visit', events: { Opened } }])

    expect(catalogue.entry('VisitOpened')).toMatchObject({ category: 'visit', phiMembers: ['name'] })
    expect(catalogue.entry('VisitClosed')).toBeUndefined()
    expect(catalogue.types).toEqual(['VisitOpened'])
    expect(catalogue.categories).toEqual(['visit'])
  })

  test.each([
    [
      'a type that two categories declare',
      /declared by visit and by other/,
      [
        { category: 'visit', events: { Opened } },
        { category: 'other', events: { Opened } },
      ],
    ],
    ['a category with a hyphen', /hyphen/, [{ category: 'home-visit', events: {} }]],
    [
      'PHI without a subject',
      /no subject/,
      [{ category: 'visit', events: { A: defineEvent('A', Type.Object({ name })) } }],
    ],
    [
      'a subject that is PHI itself',
      /cannot itself be PHI/,
      [{ category: 'visit', events: { A: defineEvent('A', Type.Object({ name }), { subject: 'name' }) } }],
    ],
    [
      'PHI inside an object',
      /PHI at \/person\/properties\/name/,
      [
        {
          category: 'visit',
          events: { A: defineEvent('A', Type.Object({ person: Type.Object({ name }) }), { subject: 'id' }) },
        },
      ],
    ],
    [
      'PHI inside an array',
      /PHI at \/names\/items/,
      [
        {
          category: 'visit',
          events: { A: defineEvent('A', Type.Object({ names: Type.Array(name) }), { subject: 'id' }) },
        },
      ],
    ],
    [
      'PHI inside a union',
      /PHI at \/anyOf\/0\/properties\/name/,
      [{ category: 'visit', events: { A: defineEvent('A', Type.Union([Type.Object({ name })]), { subject: 'id' }) } }],
    ],
    ['PHI on a channel', /channels carry none/, [{ category: 'visit.events', events: { Opened } }]],
    [
      'a version without the upcaster to it',
      /no upcaster from version 1/,
      [{ category: 'visit', events: { A: defineEvent('A', Type.Object({}), { version: 2 }) } }],
    ],
    [
      'a version below one',
      /not one from 1/,
      [{ category: 'visit', events: { A: defineEvent('A', Type.Object({}), { version: 0 }) } }],
    ],
  ])('refuses %s', (_, message, definitions) => {
    expect(() => createCatalogue(definitions)).toThrow(message)
  })

  test('accepts PHI that is a whole member of any shape', () => {
    const schema = Type.Object({
      id: Type.String(),
      contacts: Phi(Type.Array(Type.Object({ phone: Type.String() }))),
      note: Type.Optional(name),
    })
    const catalogue = createCatalogue([
      { category: 'visit', events: { A: defineEvent('A', schema, { subject: 'id' }) } },
    ])
    expect(catalogue.entry('A')?.phiMembers).toEqual(['contacts', 'note'])
  })

  test('leaves free-form members open and closes the rest', () => {
    const schema = Type.Object({
      free: Type.Record(Type.String(), Type.Unknown()),
      open: Type.Object({}, { additionalProperties: true }),
      shut: Type.Object({}),
    })
    const entry = createCatalogue([{ category: 'visit', events: { A: defineEvent('A', schema) } }]).entry('A')

    expect(entry?.refusals({ free: { a: 1 }, open: { b: 2 }, shut: {} })).toEqual([])
    expect(entry?.refusals({ free: {}, open: {}, shut: { c: 3 } })[0]?.pointer).toBe('/shut/c')
  })

  test('derives the category from a stream name', () => {
    expect(categoryOf('ai_review-org-1')).toBe('ai_review')
    expect(categoryOf('ai_review.events')).toBe('ai_review.events')
  })
})
