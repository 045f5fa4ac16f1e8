import { getEventListeners } from 'node:events'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { connect, connectReplaceable, despiteStops, serve, ThreadStopped } from '../../../../src/node/wire/port.ts'

/** calls of `untilAborted` */
const running = new Set<string>()

const service = {
  double: (value: number) => 2 * value,
  fail: () => {
    throw Object.assign(new RangeError('too far'), { code: -32000 })
  },
  never: () => new Promise<void>(() => undefined),
  untilAborted: (name: string, signal: AbortSignal) =>
    new Promise<string>((resolve) => {
      running.add(name)
      signal.addEventListener('abort', () => {
        running.delete(name)
        resolve(`${name} ended`)
      })
    }),
  failDeeply: () => {
    throw new Error('outer', { cause: Object.assign(new TypeError('inner'), { code: 'DEEP' }) })
  },
  failForItself: () => {
    const error = new Error('circle')
    throw Object.assign(error, { cause: error })
  },
  failOddly: () => {
    throw Object.assign(new Error('odd'), { code: 'ODD', retry: () => undefined })
  },
}

let channels: MessageChannel[] = []

function connected() {
  const made = new MessageChannel()
  channels.push(made)
  serve(made.port2, service)
  return { remote: connect<typeof service>(made.port1), ...made }
}

afterEach(() => {
  for (const { port1 } of channels) port1.close()
  channels = []
})

describe('port', () => {
  it('answers calls of one turn with one result each, whatever their order of ending', async () => {
    const { remote } = connected()
    expect(await Promise.all([remote.double(1), remote.double(2), remote.double(3)])).toEqual([2, 4, 6])
  })

  it('gives the error of the other side with its name and fields', async () => {
    const { remote } = connected()
    await expect(remote.fail()).rejects.toMatchObject({ name: 'RangeError', message: 'too far', code: -32000 })
  })

  it('gives what an error came from', async () => {
    const { remote } = connected()
    const cause = expect.objectContaining({ name: 'TypeError', message: 'inner', code: 'DEEP' })
    await expect(remote.failDeeply()).rejects.toMatchObject({ message: 'outer', cause })
    await expect(remote.failForItself()).rejects.toThrow('circle')
  })

  it('rejects calls that wait when the other thread ends, and those made afterwards', async () => {
    const { remote, port1, port2 } = connected()
    const waiting = remote.never()
    const closed = new Promise((resolve) => port1.once('close', resolve))
    port2.close()
    await expect(waiting).rejects.toThrow('the thread has stopped')
    await closed
    await expect(remote.double(1)).rejects.toThrow('the thread has stopped')
  })

  it('aborts the signal of a call when its caller aborts, of no other; what the function then does settles the call', async () => {
    const { remote } = connected()
    const [first, second] = [new AbortController(), new AbortController()]
    const ended = remote.untilAborted('first', first.signal)
    const other = remote.untilAborted('second', second.signal)
    await remote.double(1)
    expect([...running]).toEqual(['first', 'second'])
    first.abort()
    expect(await ended).toBe('first ended')
    expect([...running]).toEqual(['second'])
    expect(getEventListeners(first.signal, 'abort')).toEqual([])
    second.abort()
    expect(await other).toBe('second ended')
  })

  it('makes no call whose caller has aborted already', async () => {
    const { remote } = connected()
    await expect(remote.untilAborted('late', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    await remote.double(1)
    expect(running.size).toBe(0)
  })

  it("aborts the signals of all calls when the caller's thread ends", async () => {
    const { remote, port1, port2 } = connected()
    const ended = expect(remote.untilAborted('orphan', new AbortController().signal)).rejects.toThrow('has stopped')
    await remote.double(1)
    expect(running.size).toBe(1)
    const closed = new Promise((resolve) => port2.once('close', resolve))
    port1.close()
    await closed
    await ended
    expect(running.size).toBe(0)
  })

  it('gives an error that holds what cannot travel, without that', async () => {
    const { remote } = connected()
    await expect(remote.failOddly()).rejects.toMatchObject({ message: 'odd', code: 'ODD' })
    expect(await remote.double(2)).toBe(4)
  })
})

describe('a port to a thread that may be replaced', () => {
  function successor(number: number) {
    const made = new MessageChannel()
    channels.push(made)
    serve(made.port2, { ...service, double: (value: number) => 2 * value + number })
    return made
  }

  it('lets calls wait for the first thread and for each successor, and rejects only those that were under way', async () => {
    const { remote, replace, close } = connectReplaceable<typeof service>()
    const early = remote.double(10)
    const first = successor(1)
    replace(first.port1)
    expect(await early).toBe(21)

    const underWay = remote.never()
    first.port2.close()
    await expect(underWay).rejects.toThrow(ThreadStopped)
    const late = remote.double(10)
    replace(successor(2).port1)
    expect(await late).toBe(22)

    close()
    await expect(remote.double(1)).rejects.toThrow(ThreadStopped)
  })

  it('rejects calls that wait for a successor when there will be none', async () => {
    const { remote, close } = connectReplaceable<typeof service>()
    const waiting = remote.double(1)
    close()
    await expect(waiting).rejects.toThrow(ThreadStopped)
  })

  it('repeats work a few times at most, and only when its thread has ended', async () => {
    let attempts = 0
    const failing = (error: Error) => () => {
      attempts++
      return Promise.reject(error)
    }
    await expect(despiteStops(failing(new ThreadStopped()))).rejects.toThrow(ThreadStopped)
    expect(attempts).toBe(3)
    await expect(despiteStops(failing(new TypeError('bug')))).rejects.toThrow('bug')
    expect(attempts).toBe(4)
  })
})

describe('an urgent port', () => {
  it('is answered in the midst of other work, before the next turn of the event loop', () => {
    const { port1, port2 } = new MessageChannel()
    const serveWaiting = serve(port2, service, { isUrgent: true })
    port1.postMessage([[1, 'double', [4]]])
    port1.postMessage([
      [2, 'double', [5]],
      [3, 'fail', []],
    ])
    serveWaiting()
    const answers = [receiveMessageOnPort(port1), receiveMessageOnPort(port1), receiveMessageOnPort(port1)]
    expect(answers.map((answer) => answer?.message)).toEqual([
      [[1, true, 8]],
      [[2, true, 10]],
      [[3, false, expect.objectContaining({ name: 'RangeError', message: 'too far' })]],
    ])
    port1.close()
  })

  it('is looked at before each message of another one', async () => {
    const { port1, port2 } = new MessageChannel()
    const order: string[] = []
    serve(port2, { note: (name: string) => void order.push(name) }, { before: () => void order.push('urgent') })
    port1.postMessage([
      [0, 'note', ['a']],
      [0, 'note', ['b']],
    ])
    await expect.poll(() => order).toEqual(['urgent', 'a', 'urgent', 'b'])
    port1.close()
  })
})
