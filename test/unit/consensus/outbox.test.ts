import { describe, expect, it } from 'vitest'
import { Outbox } from '../../../src/consensus/outbox.ts'

/** An outbox on a log whose syncs end when the test says so. */
function opened() {
  const syncs: ((error?: Error) => void)[] = []
  const left: string[] = []
  const failures: Error[] = []
  const outbox = new Outbox({ sync: (done) => void syncs.push(done) }, (error) => {
    failures.push(error)
    outbox.kill()
  })
  const send = (name: string, essential = false) => outbox.push(() => void left.push(name), essential)
  return { outbox, syncs, left, failures, send }
}

describe('the outbox', () => {
  it('lets everything out at once while nothing signed waits for the disk', () => {
    const { outbox, left, send, syncs } = opened()
    send('a')
    outbox.flush()
    expect(left).toEqual(['a'])
    expect(syncs).toEqual([])
  })

  it('keeps all back from a signature on until it is on the disk, in order, with one sync', () => {
    const { outbox, left, send, syncs } = opened()
    outbox.hold()
    send('vote')
    send('status')
    outbox.hold()
    send('vote 2')
    outbox.flush()
    send('late')
    expect(left).toEqual([])
    expect(syncs).toHaveLength(1)
    syncs[0]!()
    expect(left).toEqual(['vote', 'status', 'vote 2', 'late'])
    send('after')
    expect(left.at(-1)).toBe('after')
  })

  it('does not let out with an earlier sync what a later one is for', () => {
    const { outbox, left, send, syncs } = opened()
    outbox.hold()
    send('1')
    outbox.flush()
    outbox.hold()
    send('2')
    outbox.flush()
    syncs[0]!()
    expect(left).toEqual(['1'])
    syncs[1]!()
    expect(left).toEqual(['1', '2'])
  })

  it('waits for the flush when a signature came while a sync was under way', () => {
    const { outbox, left, send, syncs } = opened()
    outbox.hold()
    send('1')
    outbox.flush()
    outbox.hold()
    send('2')
    syncs[0]!()
    expect(left).toEqual(['1'])
    outbox.flush()
    syncs[1]!()
    expect(left).toEqual(['1', '2'])
  })

  it('puts what is caused by leaving behind what left with it', () => {
    const { outbox, left, syncs, send } = opened()
    outbox.hold()
    outbox.push(() => {
      left.push('1')
      send('caused')
    })
    send('2')
    outbox.flush()
    syncs[0]!()
    expect(left).toEqual(['1', '2', 'caused'])
  })

  it('lets nothing out when the disk fails', () => {
    const { outbox, left, send, syncs, failures } = opened()
    outbox.hold()
    send('vote')
    send('block', true)
    outbox.flush()
    syncs[0]!(new Error('EIO'))
    send('more')
    expect(left).toEqual([])
    expect(failures).toEqual([new Error('EIO')])
  })

  it('after a stop lets out only what the log has as done', () => {
    const { outbox, left, send, syncs } = opened()
    outbox.hold()
    send('vote')
    send('block', true)
    outbox.flush()
    outbox.stop()
    send('later')
    syncs[0]!()
    expect(left).toEqual(['block'])
  })
})
