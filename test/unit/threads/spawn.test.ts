import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'

const SPAWN = new URL('../../../src/threads/spawn.ts', import.meta.url).href

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
