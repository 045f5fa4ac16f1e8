import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { startedInTime } from '../../../../src/config/startDeadline.ts'

const SPAWN = new URL('../../../../src/node/start/spawn.ts', import.meta.url).href

it.each([
  ['an event', "setImmediate(() => { throw new Error('Database is not open') })"],
  ['a promise', "void Promise.reject(new Error('Database is not open'))"],
])(
  'a thread that ends for damage says so, also when %s fails while its database is being closed',
  async (_, failure) => {
    const worker = new Worker(
      `import('${SPAWN}').then(({ endThread }) => {
      const close = async () => {
        ${failure}
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      endThread(new Error('the database is damaged'), close)
    })`,
      { eval: true },
    )
    const [error] = (await once(worker, 'error')) as [Error]
    expect(error.message).toBe('the database is damaged')
  },
)

describe('the start of a thread', () => {
  it('has a deadline, whatever the thread waits for', async () => {
    const never = new Promise<never>(() => undefined)
    const waiting = startedInTime('network', never, 1)
    await expect(waiting).rejects.toThrow(/^the network thread does not start: it has not answered for 0\.001 seconds;/)
    await expect(waiting).rejects.toHaveProperty('name', 'ThreadStartTimeout')
  })

  it('is over with its answer or its error', async () => {
    expect(await startedInTime('pool', Promise.resolve(7))).toBe(7)
    await expect(startedInTime('pool', Promise.reject(new Error('ended')))).rejects.toThrow('ended')
  })
})
