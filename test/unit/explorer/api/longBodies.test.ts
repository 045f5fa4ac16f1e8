import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import fastify from 'fastify'
import { afterEach, expect, it } from 'vitest'
import { createClientOf } from '../../../../explorer/api/clientOf.ts'
import { createLongBodyLimit } from '../../../../explorer/api/longBodies.ts'

const SHORT = 1_000
const app = fastify({ bodyLimit: 1_000_000 })
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await app.close()
})

it('refuses long bodies before it reads them, where a client or all of them send many at the same time', async () => {
  const clientOf = createClientOf({ trustedProxies: [{ address: '127.0.0.1', prefix: 32 }] }, { warn: () => undefined })
  const onRequest = createLongBodyLimit(clientOf, SHORT, (reply) => reply.code(429).send('later'))
  let taken = 0
  app.post('/', { onRequest, preParsing: async () => void taken++ }, async () => 'taken')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const send = (client: string, header: string, body = ''): Socket => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.write(
      `POST / HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${client}\r\ncontent-type: text/plain\r\n${header}\r\n\r\n${body}`,
    )
    return socket
  }
  const answerTo = async (socket: Socket): Promise<string> => {
    const [part] = (await once(socket, 'data')) as [Buffer]
    return part.toString('latin1').split('\r\n')[0]!
  }
  /** Sends all but the end of a long body. */
  const begin = async (client: string, header = 'content-length: 5000'): Promise<Socket> => {
    const before = taken
    const socket = send(client, header)
    while (taken === before) await setImmediate()
    return socket
  }

  const own = [await begin('198.51.100.1'), await begin('198.51.100.1', 'transfer-encoding: chunked')]
  for (let at = 0; at < 2; at++) own.push(await begin('198.51.100.1'))
  expect(await answerTo(send('198.51.100.1', 'content-length: 5000'))).toContain('429')
  expect(await answerTo(send('198.51.100.1', 'content-length: 4', 'text'))).toContain('200')
  for (const client of [2, 3, 4]) for (let at = 0; at < 4; at++) own.push(await begin(`198.51.100.${client}`))
  expect(await answerTo(send('198.51.100.5', 'content-length: 5000'))).toContain('429')

  // One that is read, and one that is given up, leave their places.
  own[0]!.write('x'.repeat(5_000))
  expect(await answerTo(own[0]!)).toContain('200')
  own[2]!.destroy()
  for (let at = 0; at < 2; at++) {
    let answer = '429'
    while (answer.includes('429'))
      answer = await answerTo(send('198.51.100.1', 'content-length: 5000', 'x'.repeat(5_000)))
    expect(answer).toContain('200')
  }
})
