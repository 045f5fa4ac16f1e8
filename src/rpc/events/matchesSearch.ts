import type { NativeEvent } from '../../chain/entries.ts'
import { type EventCondition, type EventQuery, matchesEvents } from './eventQuery.ts'
import { eventValues } from './eventValues.ts'

/**
 * Whether events meet a search. As CometBFT's index has it (state/txindex/kv), conditions on the attributes of one type of event
 * have to be met by one and the same event; unlike there, conditions on several types may be met by one event of each.
 * @param own values that belong to no event, like `tx.height`
 */
export function matchesSearch(
  { conditions }: Pick<EventQuery, 'conditions'>,
  events: readonly NativeEvent[],
  own: Readonly<Record<string, string>>,
): boolean {
  const isOwn = ({ key }: EventCondition): boolean => Object.hasOwn(own, key)
  if (!matchesEvents({ conditions: conditions.filter(isOwn) }, eventValues([], own))) return false
  const byType = Map.groupBy(
    conditions.filter((condition) => !isOwn(condition)),
    ({ key }) => key.slice(0, Math.max(0, key.lastIndexOf('.'))),
  )
  return [...byType].every(([type, together]) =>
    events.some((event) => event.type === type && matchesEvents({ conditions: together }, eventValues([event]))),
  )
}
