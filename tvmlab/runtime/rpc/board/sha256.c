/* SHA-256 (FIPS 180-4) and HMAC (FIPS 198-1). */
#include "board.h"
#include <string.h>

enum { BLOCK = 64 };
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct sha {
  uint32_t h[8];
  uint64_t size;
  uint8_t block[BLOCK];
};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void compress(struct sha *s) {
  uint32_t w[64] = {0}, v[8];
  for (int i = 0; i < BLOCK; ++i) w[i / 4] = w[i / 4] << 8 | s->block[i];
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  memcpy(v, s->h, sizeof v);
  for (int i = 0; i < 64; ++i) {
    uint32_t a = v[0], e = v[4];
    uint32_t x = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + K[i] + w[i];
    uint32_t y = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += x;
    v[0] = x + y;
  }
  for (int i = 0; i < 8; ++i) s->h[i] += v[i];
}

static void sha_begin(struct sha *s) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(s->h, first, sizeof first);
  s->size = 0;
}

static void sha_add(struct sha *s, const void *data, size_t size) {
  const uint8_t *p = data;
  for (size_t i = 0; i < size; ++i) {
    s->block[s->size++ % BLOCK] = p[i];
    if (s->size % BLOCK == 0) compress(s);
  }
}

static void sha_end(struct sha *s, uint8_t out[PROOF]) {
  uint64_t bits = 8 * s->size;
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  sha_add(s, "\x80", 1);
  while (s->size % BLOCK != BLOCK - 8) sha_add(s, "", 1);
  sha_add(s, length, 8);
  for (int i = 0; i < PROOF; ++i) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void hmac_sha256(const char *secret, const void *data, size_t size, uint8_t out[PROOF]) {
  uint8_t key[BLOCK] = {0}, pad[BLOCK];
  size_t length = strlen(secret);
  struct sha s;
  sha_begin(&s);
  if (length > BLOCK) {
    sha_add(&s, secret, length);
    sha_end(&s, key);
    sha_begin(&s);
  } else {
    memcpy(key, secret, length);
  }
  for (int i = 0; i < BLOCK; ++i) pad[i] = key[i] ^ 0x36;
  sha_add(&s, pad, BLOCK);
  sha_add(&s, data, size);
  sha_end(&s, out);
  for (int i = 0; i < BLOCK; ++i) pad[i] = key[i] ^ 0x5c;
  sha_begin(&s);
  sha_add(&s, pad, BLOCK);
  sha_add(&s, out, PROOF);
  sha_end(&s, out);
}
