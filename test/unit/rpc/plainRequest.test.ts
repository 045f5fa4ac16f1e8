import { describe, expect, test } from 'vitest'
import { readPlainRequest } from '../../../src/rpc/plainRequest.ts'

const BODY = '{"jsonrpc":"2.0","id":"ü","method":"eth_chainId"}'
const LENGTH = Buffer.byteLength(BODY)
const head = (...headers: string[]): string => ['POST / HTTP/1.1', ...headers, '', ''].join('\r\n')
const PLAIN = ['Host: x', 'Content-Type: application/json; charset=utf-8', `content-length:${LENGTH}`]

const read = (text: string, maxBodyBytes = 1_000) => readPlainRequest(Buffer.from(text), maxBodyBytes, undefined)

describe('a plain request', () => {
  test('is read whole, and what follows is left', () => {
    const text = head(...PLAIN, 'Accept-Encoding: gzip, br', 'X-Forwarded-For: 10.0.0.1', 'Connection: Keep-Alive')
    expect(read(`${text}${BODY}POST`)).toEqual({
      head: { text: text.slice(0, -4), contentLength: LENGTH, acceptEncoding: 'gzip, br' },
      body: BODY,
      length: text.length + LENGTH,
    })
  })

  test('may be empty', () => {
    expect(read(head('Host: x', 'Content-Type: application/json', 'Content-Length: 0'))).toMatchObject({ body: '' })
  })

  test('with the head of the last one takes what is known of it', () => {
    const first = readPlainRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), 1_000, undefined)
    if (typeof first === 'string') throw new Error(first)
    const second = readPlainRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), 1_000, first.head)
    expect(second).toMatchObject({ body: BODY })
    expect(typeof second === 'string' ? undefined : second.head).toBe(first.head)
    expect(readPlainRequest(Buffer.from(`${head(...PLAIN)}${BODY}`), LENGTH - 1, first.head)).toBe('other')
  })

  test('is waited for at every cut', () => {
    const text = Buffer.from(`${head(...PLAIN)}${BODY}`)
    for (let length = 0; length < text.length; length++) {
      expect(readPlainRequest(text.subarray(0, length), 1_000, undefined)).toBe('incomplete')
    }
  })
})

describe('left to the other server', () => {
  const without = (name: string): string[] => PLAIN.filter((line) => !line.toLowerCase().startsWith(name))
  test.each([
    ['another method', `GET / HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['another path', `${head(...PLAIN).replace('POST /', 'POST /rpc')}${BODY}`],
    ['another version', `${head(...PLAIN).replace('1.1', '1.0')}${BODY}`],
    ['no host', `${head(...without('host'))}${BODY}`],
    ['an empty host', `${head('Host:', ...without('host'))}${BODY}`],
    ['no length', `${head(...without('content-length'))}${BODY}`],
    ['no content type', `${head(...without('content-type'))}${BODY}`],
    ['another content type', `${head('Content-Type: text/plain', ...without('content-type'))}${BODY}`],
    ['a length twice', `${head(...PLAIN, 'Content-Length: 1')}${BODY}`],
    ['a length that is no number', `${head(...without('content-length'), 'Content-Length: +5')}${BODY}`],
    ['chunks', `${head(...PLAIN, 'Transfer-Encoding: chunked')}${BODY}`],
    ['a request to wait', `${head(...PLAIN, 'Expect: 100-continue')}${BODY}`],
    ['an upgrade', `${head(...PLAIN, 'Connection: Upgrade', 'Upgrade: websocket')}${BODY}`],
    ['a web page', `${head(...PLAIN, 'Origin: https://app.example.org')}${BODY}`],
    ['a connection that ends', `${head(...PLAIN, 'Connection: close')}${BODY}`],
    ['a folded header', `${head(...PLAIN, 'X-A: 1', ' 2')}${BODY}`],
    ['a space before the colon', `${head(...PLAIN, 'X-A : 1')}${BODY}`],
    ['a control character', `${head(...PLAIN, 'X-A: \u0001')}${BODY}`],
    ['a line without carriage return', `${head(...PLAIN).replace('Host: x\r\n', 'Host: x\n')}${BODY}`],
    ['a long head', `${head(...PLAIN, `X-A: ${'a'.repeat(5_000)}`)}${BODY}`],
    ['a long head that has not ended', `POST / HTTP/1.1\r\nX-A: ${'a'.repeat(5_000)}`],
    ['garbage', '\x16\x03\x01\x02'],
  ])('%s', (_, text) => {
    expect(read(text)).toBe('other')
  })

  test('a long body', () => {
    expect(read(`${head(...PLAIN)}${BODY}`, LENGTH - 1)).toBe('other')
    expect(read(head(...PLAIN), LENGTH - 1)).toBe('other')
  })
})
