import { useSyncExternalStore } from 'react'
import { formatAge, formatTime } from '../format.ts'

/** One clock for all ages on a page: they change together, each second. */
const clock = {
  now: Date.now(),
  listeners: new Set<() => void>(),
  timer: undefined as ReturnType<typeof setInterval> | undefined,
}

function subscribe(listener: () => void): () => void {
  clock.listeners.add(listener)
  clock.timer ??= setInterval(() => {
    clock.now = Date.now()
    for (const each of clock.listeners) each()
  }, 1_000)
  return () => {
    clock.listeners.delete(listener)
    if (clock.listeners.size > 0) return
    clearInterval(clock.timer)
    clock.timer = undefined
  }
}

/** How long ago something was; the exact time on hovering. */
export function Age({ time }: { readonly time: string }) {
  const now = useSyncExternalStore(subscribe, () => clock.now)
  return (
    <time dateTime={time} title={formatTime(time)}>
      {formatAge(time, Math.max(now, Date.parse(time)))}
    </time>
  )
}
