import { Type, type Static } from 'typebox'
import { v5 } from 'uuid'
import { Nullable, Uuid } from '../../platform/http/members.ts'

/** Specification 4.1. */
export const BodySiteRecord = Type.Object(
  {
    id: Uuid,
    code: Type.String({ description: 'SNOMED CT' }),
    display: Type.String(),
    parent_id: Nullable(Uuid),
  },
  { $id: 'BodySiteRecord' },
)
export type BodySiteRecord = Static<typeof BodySiteRecord>

/** A site with its parts. */
type Site = readonly [code: string, display: string, parts?: readonly Site[]]

/**
 * Common sites of skin lesions, with the SNOMED CT codes of DICOM PS3.16. Never remove a code, because assessments
 * contain it.
 */
const sites: readonly Site[] = [
  [
    '774007',
    'Head and neck',
    [
      [
        '69536005',
        'Head',
        [
          ['41695006', 'Scalp'],
          ['117590005', 'Ear'],
          [
            '89545001',
            'Face',
            [
              ['52795006', 'Forehead'],
              ['367577003', 'Skin of eyebrow'],
              ['80243003', 'Eyelid'],
              ['45206002', 'Nose'],
              ['60819002', 'Cheek'],
              ['48477009', 'Lip'],
              ['23747009', 'Skin of chin'],
            ],
          ],
        ],
      ],
      ['45048000', 'Neck'],
    ],
  ],
  [
    '22943007',
    'Trunk',
    [
      ['816094009', 'Chest', [['76752008', 'Breast']]],
      ['818981001', 'Abdomen', [['315003', 'Skin of umbilicus']]],
      ['77568009', 'Back', [['113182001', 'Skin of lower back']]],
      ['26893007', 'Inguinal region'],
      ['46862004', 'Buttock'],
      ['38864007', 'Perineum'],
      ['18911002', 'Penis'],
      ['20233005', 'Scrotum'],
      ['45292006', 'Vulva'],
    ],
  ],
  [
    '53120007',
    'Upper limb',
    [
      ['16982005', 'Shoulder region'],
      ['91470000', 'Axilla'],
      ['40983000', 'Upper arm'],
      ['17957002', 'Skin of antecubital fossa'],
      ['14975008', 'Forearm'],
      [
        '85562004',
        'Hand',
        [
          ['70887009', 'Skin of palm of hand'],
          [
            '7569003',
            'Finger',
            [
              ['76505004', 'Thumb'],
              ['770809003', 'Nail unit of finger'],
            ],
          ],
        ],
      ],
    ],
  ],
  [
    '61685007',
    'Lower limb',
    [
      ['29836001', 'Hip'],
      ['68367000', 'Thigh'],
      ['72696002', 'Knee'],
      ['84507004', 'Skin of popliteal fossa'],
      ['30021000', 'Lower leg'],
      [
        '56459004',
        'Foot',
        [
          ['84607009', 'Skin of heel'],
          ['29707007', 'Toe', [['770805009', 'Nail unit of toe']]],
        ],
      ],
    ],
  ],
]

/**
 * UUID namespace of the catalogue. Never change it: the ids of the sites derive from it, equal on every installation.
 */
const catalogue = '0d6c7c1e-4b0a-5a3f-9c58-7f1d2be0a6c4'

/** The catalogue of body sites. A site precedes its parts. */
export const bodySites: readonly BodySiteRecord[] = recordsOf(sites, null)

const known: ReadonlySet<string> = new Set(bodySites.map(({ id }) => id))

export function isBodySite(id: string): boolean {
  return known.has(id.toLowerCase())
}

function recordsOf(parts: readonly Site[], parentId: string | null): BodySiteRecord[] {
  return parts.flatMap(([code, display, smaller = []]) => {
    const id = v5(code, catalogue)
    return [{ id, code, display, parent_id: parentId }, ...recordsOf(smaller, id)]
  })
}
