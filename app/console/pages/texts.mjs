import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** English, and its German. A text without German is a name of the program. */
const german = {
  Access: 'Zugang',
  'All is well': 'Alles in Ordnung',
  Action: 'Aktion',
  Actions: 'Aktionen',
  Actor: 'Wer',
  All: 'Alle',
  'All groups': 'Alle Gruppen',
  Apply: 'Anwenden',
  Calls: 'Aufrufe',
  Cancel: 'Abbrechen',
  Client: 'Client',
  Clients: 'Clients',
  Code: 'Code',
  Confirm: 'Bestätigen',
  Console: 'Konsole',
  Copies: 'Kopien',
  Count: 'Anzahl',
  Deliveries: 'Zustellungen',
  Detail: 'Einzelheit',
  Done: 'Erledigt',
  Due: 'Fällig',
  Endpoints: 'Empfänger',
  Error: 'Fehler',
  Errors: 'Fehler',
  'Events behind': 'Ereignisse davor',
  Example: 'Beispiel',
  Failed: 'Fehlgeschlagen',
  'Failed deliveries': 'Fehlgeschlagene Zustellungen',
  Failures: 'Fehlschläge',
  'Failing since': 'Fehler seit',
  'Failure groups': 'Fehlergruppen',
  From: 'Von',
  Group: 'Gruppe',
  Host: 'Rechner',
  Id: 'Id',
  Items: 'Einträge',
  Kind: 'Art',
  Lag: 'Rückstand',
  Language: 'Sprache',
  'Last hour': 'Letzte Stunde',
  'Last move': 'Letzte Bewegung',
  'Last success': 'Letzter Erfolg',
  'Last verification': 'Letzte Prüfung',
  Faults: 'Abweichungen',
  Loading: 'Wird geladen',
  Log: 'Log',
  Median: 'Median',
  Name: 'Name',
  'Next try': 'Nächster Versuch',
  'No access': 'Kein Zugang',
  'No answer. Trying again. What is shown may be old.':
    'Keine Antwort. Neuer Versuch folgt. Die Anzeige kann alt sein.',
  'No answer. The action may have begun.': 'Keine Antwort. Die Aktion kann begonnen haben.',
  None: 'Keine',
  Notifications: 'Benachrichtigungen',
  'Not signed in': 'Nicht angemeldet',
  Now: 'Jetzt',
  Oldest: 'Älteste Arbeit',
  Organisation: 'Organisation',
  Organisations: 'Organisationen',
  Overview: 'Überblick',
  Pending: 'Offen',
  Permissions: 'Rechte',
  Position: 'Position',
  Problems: 'Probleme',
  Process: 'Prozess',
  Processes: 'Prozesse',
  'Read models': 'Lesemodelle',
  Reason: 'Grund',
  Rebuild: 'Neu aufbauen',
  'Rebuild this read model beside the serving one?': 'Dieses Lesemodell neben dem laufenden neu aufbauen?',
  Retry: 'Wiederholen',
  'Retry all items of this group?': 'Alle Einträge dieser Gruppe wiederholen?',
  'Retry this item?': 'Diesen Eintrag wiederholen?',
  Roles: 'Rollen',
  'Roll back': 'Zurücknehmen',
  'Serve the former copy again?': 'Wieder die frühere Kopie benutzen?',
  Seals: 'Siegel',
  Seen: 'Gesehen',
  'Show the items': 'Einträge zeigen',
  Show: 'Zeigen',
  'Sign in': 'Anmelden',
  'Sign out': 'Abmelden',
  Since: 'Seit',
  'Skip to the content': 'Zum Inhalt',
  Started: 'Beginn',
  State: 'Zustand',
  States: 'Zustände',
  Status: 'Status',
  Step: 'Schritt',
  Subject: 'Gegenstand',
  Systems: 'Systeme außerhalb',
  'There is no such record.': 'Diesen Eintrag gibt es nicht.',
  Events: 'Ereignisse',
  Sealed: 'Versiegelt',
  'Show the audit timeline': 'Den Verlauf aus dem Log zeigen',
  'The audit timeline': 'Der Verlauf aus dem Log',
  'The request was refused: ': 'Die Anfrage wurde abgelehnt: ',
  'The retry has begun: ': 'Die Wiederholung hat begonnen: ',
  'The action was requested: ': 'Die Aktion wurde angefordert: ',
  'This account lacks the permission ': 'Diesem Konto fehlt das Recht ',
  'This page needs a session. It has ended, or there was none.':
    'Diese Seite braucht eine Sitzung. Sie ist zu Ende, oder es gab keine.',
  'To the next page': 'Zur nächsten Seite',
  'To the first page': 'Zur ersten Seite',
  'Try again': 'Noch einmal versuchen',
  Unknown: 'Unbekannt',
  Users: 'Benutzer',
  Verify: 'Prüfen',
  Skip: 'Überspringen',
  'Go on without this event, for ever?': 'Für immer ohne dieses Ereignis weitermachen?',
  'Have it try its event again?': 'Das Ereignis noch einmal versuchen lassen?',
  'Compare this read model with the log?': 'Dieses Lesemodell mit dem Log vergleichen?',
  Version: 'Version',
  Versions: 'Versionen',
  'Webhooks and notifications': 'Webhooks und Benachrichtigungen',
  Webhooks: 'Webhooks',
  'What to do': 'Was zu tun ist',
  When: 'Wann',
  Witnesses: 'Zeugen',
  Work: 'Arbeit',
  'per minute': 'je Minute',
  ok: 'gut',
  warning: 'Warnung',
  failing: 'gestört',
  unused: 'unbenutzt',
  running: 'läuft',
  silent: 'still',
  failed: 'fehlgeschlagen',
  parked: 'geparkt',
  due: 'fällig',
  waiting: 'wartet',
  leased: 'in Arbeit',
  done: 'fertig',
  skipped: 'entfällt',
  stopped: 'angehalten',
  requested: 'angefordert',
  different: 'verschieden',
  'catching-up': 'holt auf',
  unseen: 'nie gelaufen',
  Attempts: 'Versuche',
  Ended: 'Ende',
  'Not begun': 'Noch nicht begonnen',
  Related: 'Gehört dazu',
  Stages: 'Stufen',
  'The person was erased.': 'Die Daten dieser Person sind gelöscht.',
  accepted: 'angenommen',
  images: 'Bilder',
  consent: 'Einwilligung',
  provider: 'Anbieter',
  result: 'Ergebnis',
  findings: 'Befunde',
  human_review: 'Prüfung durch Ärzte',
  webhooks: 'Webhooks',
  notifications: 'Benachrichtigungen',
  opened: 'eröffnet',
  opinions: 'Urteile',
  decided: 'entschieden',
  closed: 'geschlossen',
  sent: 'gesendet',
  completed: 'abgeschlossen',
  processing: 'in Arbeit',
  awaiting_images: 'wartet auf Bilder',
  cancelled: 'abgebrochen',
  delivered: 'zugestellt',
  pending: 'offen',
  queued: 'in der Schlange',
  suppressed: 'unterdrückt',
  open: 'offen',
  claimed: 'übernommen',
  in_review: 'in Prüfung',
  in_progress: 'in Arbeit',
  awaiting_result: 'wartet auf das Ergebnis',
  superseded: 'ersetzt',
  active: 'aktiv',
  disabled: 'abgeschaltet',
}

/** Of each problem: what it is, and what to do. The guide `docs/operating.md` has more. */
const problems = {
  'check-failing': [
    ['A check of /health fails', 'See the processes below. If others pass the check, look at the network of this one.'],
    [
      'Eine Prüfung von /health schlägt fehl',
      'Siehe die Prozesse unten. Bestehen andere die Prüfung, das Netz dieses einen ansehen.',
    ],
  ],
  'calls-held': [
    [
      'Calls to systems outside are held after a restore',
      'Check the restored data, then release them with `backup release`.',
    ],
    ['Aufrufe nach außen ruhen nach einer Wiederherstellung', 'Die Daten prüfen, dann mit `backup release` freigeben.'],
  ],
  'role-missing': [
    ['No process runs this role', 'Start a process with this role.'],
    ['Kein Prozess hat diese Rolle', 'Einen Prozess mit dieser Rolle starten.'],
  ],
  'process-silent': [
    ['A process shows no sign of life', 'Look at its machine and its log. Others take over its work.'],
    ['Ein Prozess gibt kein Lebenszeichen', 'Seine Maschine und sein Log ansehen. Andere übernehmen seine Arbeit.'],
  ],
  'projection-failed': [
    [
      'A read model stopped at an event',
      'The read models name the event and the reason. Roll back the program, or rebuild.',
    ],
    [
      'Ein Lesemodell hält an einem Ereignis',
      'Die Lesemodelle nennen Ereignis und Grund. Das Programm zurücknehmen oder neu aufbauen.',
    ],
  ],
  'projection-behind': [
    ['A read model is behind', 'Is its role running, and does the database take writes?'],
    ['Ein Lesemodell liegt zurück', 'Läuft seine Rolle, und nimmt die Datenbank Schreibzugriffe an?'],
  ],
  'relay-blocked': [
    ['A public channel is blocked', 'Its log line names the event. Later events wait behind it.'],
    ['Ein öffentlicher Kanal steht', 'Die Logzeile nennt das Ereignis. Spätere Ereignisse warten dahinter.'],
  ],
  'work-failing': [
    ['Work fails in the same way', 'Look at the group. It is tried again by itself; retry it after the cause is gone.'],
    [
      'Arbeit schlägt auf gleiche Weise fehl',
      'Die Gruppe ansehen. Neue Versuche folgen von selbst; nach der Ursache wiederholen.',
    ],
  ],
  'work-late': [
    ['Work is due, and nobody does it', 'Start a processor, or raise PROCESS_WORKERS.'],
    ['Arbeit ist fällig, und niemand tut sie', 'Einen Processor starten oder PROCESS_WORKERS erhöhen.'],
  ],
  'system-failing': [
    ['A system outside fails', 'See its error below. Work for it waits and goes on by itself.'],
    ['Ein System außerhalb ist gestört', 'Siehe seinen Fehler unten. Arbeit dafür wartet und geht von selbst weiter.'],
  ],
  'endpoint-disabled': [
    ['A webhook was disabled', 'Its organisation enables it again when the receiver works.'],
    ['Ein Webhook wurde abgeschaltet', 'Die Organisation schaltet ihn wieder ein, wenn der Empfänger arbeitet.'],
  ],
  'seal-late': [
    ['The log was not sealed for long', 'Is a processor running, and does the object store take writes?'],
    ['Das Log ist lange nicht versiegelt', 'Läuft ein Processor, und nimmt der Objektspeicher Schreibzugriffe an?'],
  ],
}

export const languages = /** @type {const} */ (['en', 'de'])
/** @typedef {typeof languages[number]} Language */

/** @returns {Language} */
const usual = () => 'en'
export const LanguageContext = createContext(usual())

export function useTexts() {
  const language = useContext(LanguageContext)
  const dates = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const ages = new Intl.RelativeTimeFormat(language, { numeric: 'always', style: 'short' })
  return {
    language,
    /** @param {string} text */
    t: (text) => (language === 'de' ? (new Map(Object.entries(german)).get(text) ?? text) : text),
    /** @param {string} code */
    problem: (code) => {
      const [english, inGerman] = new Map(Object.entries(problems)).get(code) ?? []
      const [title, remedy] = (language === 'de' ? inGerman : english) ?? [code, '']
      return { title: title ?? code, remedy: remedy ?? '' }
    },
    /** @param {number} number */
    count: (number) => new Intl.NumberFormat(language).format(number),
    /** @param {string} instant */
    instant: (instant) => dates.format(new Date(instant)),
    /** In the largest unit that is reached. @param {number} ms */
    duration: (ms) => {
      const units = /** @type {const} */ ([
        ['hour', 3_600_000],
        ['minute', 60_000],
        ['second', 1000],
      ])
      const [unit, length] = units.find(([, unitMs]) => ms >= unitMs) ?? ['millisecond', 1]
      const options = /** @type {const} */ ({ style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 })
      return new Intl.NumberFormat(language, options).format(ms / length)
    },
    /** How long ago, in the largest whole unit. @param {string} instant */
    age: (instant) => {
      const seconds = (Date.parse(instant) - Date.now()) / 1000
      const units = /** @type {const} */ ([
        ['day', 86_400],
        ['hour', 3600],
        ['minute', 60],
      ])
      const [unit, length] = units.find(([, unitSeconds]) => Math.abs(seconds) >= unitSeconds) ?? ['second', 1]
      return ages.format(Math.round(seconds / length), unit)
    },
  }
}
