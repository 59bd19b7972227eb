/** How many events a backup has. */
export function eventsText(events: number | null): string {
  return events === null ? 'an event store copied by its own means' : `${events.toLocaleString('en')} events`
}
