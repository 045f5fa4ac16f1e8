import { event, type ModuleContext } from './context.ts'
import { reasonWithCause, recoverPanic } from './recoverPanic.ts'
import { isSdkError, type Outcome } from './sdkError.ts'

/** The event of an item that was left alone. No state that transactions, parameters or a genesis can make should cause one. */
export const ITEM_LEFT_ALONE = 'item_left_alone'

/**
 * Does an item of a block's start or end: one validator's vote, one slash, one entry of a queue. If
 * it hits a state that it cannot handle, or returns an error, all its effects are undone, an event
 * names it, and the block continues with the next item: otherwise no block could follow. All nodes
 * do the same, since they have the same state. Failures of the machine are thrown, see
 * {@link recoverPanic}.
 *
 * Only for begin and end of blocks: a bug in a message leaves the transaction out instead.
 * @param item the names of the module, of the step, and of the object concerned
 * @returns undefined when the item was skipped
 */
export function doItem<T>(
  { world }: ModuleContext,
  item: Readonly<Record<string, string>>,
  run: () => Outcome<T>,
): T | undefined {
  world.checkpoint()
  let result: Outcome<T> | undefined
  let isDone = false
  try {
    result = recoverPanic(run)
    isDone = !isSdkError(result)
  } finally {
    if (isDone) world.commit()
    else world.revert()
  }
  if (!isSdkError(result)) return result
  world.emitEvent(event(ITEM_LEFT_ALONE, { ...item, reason: reasonWithCause(result) }))
  return undefined
}
