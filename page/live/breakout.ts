/** Implements a small Breakout on a screen of 84 × 84 gray pixels, like DQN's Atari input, with a player that follows the ball and sometimes looks away. */
import { seeded } from "../../examples/random.js";

export const SIZE = 84;

const [ROWS, COLUMNS, WALL_TOP, BRICK_HEIGHT] = [6, 14, 18, 4];
const BRICK_WIDTH = SIZE / COLUMNS;
const SHADES = [200, 180, 160, 140, 120, 100];
const [EDGE, PADDLE, BALL] = [90, 220, 255];
const [PADDLE_Y, PADDLE_WIDTH, PADDLE_SPEED] = [78, 12, 3];
const BALL_SIZE = 2;
const LIVES = 5;
/** The probability per step that the player stops following the ball. */
const DOZES = 0.12;

export class Breakout {
  readonly screen = new Uint8Array(SIZE * SIZE);
  readonly #random: () => number;
  readonly #bricks = new Uint8Array(ROWS * COLUMNS);
  #paddle = SIZE / 2;
  #ball = { x: 0, y: 0, dx: 0, dy: 0 };
  #lives = LIVES;

  constructor(seed: number) {
    this.#random = seeded(seed);
    this.#begin();
  }

  /** Plays one step. Returns the reward, the action (0: stay, 1: right, 2: left) and whether the episode ended, in which case the next episode has begun. */
  step(): { reward: number; action: number; ended: boolean } {
    const action = this.#chosen();
    const shift = action === 0 ? 0 : action === 1 ? PADDLE_SPEED : -PADDLE_SPEED;
    this.#paddle = Math.min(SIZE - PADDLE_WIDTH, Math.max(0, this.#paddle + shift));
    const reward = this.#move();
    const ended = this.#lives === 0 || !this.#bricks.includes(1);
    if (ended) this.#begin();
    this.#draw();
    return { reward, action, ended };
  }

  #chosen(): number {
    if (this.#random() < DOZES) return Math.floor(this.#random() * 3);
    const off = this.#ball.x + BALL_SIZE / 2 - (this.#paddle + PADDLE_WIDTH / 2);
    return Math.abs(off) < PADDLE_SPEED ? 0 : off > 0 ? 1 : 2;
  }

  #begin(): void {
    this.#bricks.fill(1);
    this.#lives = LIVES;
    this.#serve();
    this.#draw();
  }

  #serve(): void {
    this.#ball = { x: 10 + this.#random() * (SIZE - 20), y: 48, dx: this.#random() < 0.5 ? -1.3 : 1.3, dy: 1.7 };
  }

  #move(): number {
    const ball = this.#ball;
    ball.x += ball.dx;
    ball.y += ball.dy;
    if (ball.x < 1 || ball.x > SIZE - 1 - BALL_SIZE) ball.dx = -ball.dx;
    if (ball.y < 1) ball.dy = -ball.dy;
    ball.x = Math.min(SIZE - 1 - BALL_SIZE, Math.max(1, ball.x));
    if (ball.dy > 0 && ball.y + BALL_SIZE >= PADDLE_Y && ball.y < PADDLE_Y + 2 && ball.x + BALL_SIZE > this.#paddle && ball.x < this.#paddle + PADDLE_WIDTH) {
      ball.dy = -ball.dy;
      ball.dx = (ball.x - this.#paddle - PADDLE_WIDTH / 2) / 3;
    }
    if (ball.y > SIZE) {
      this.#lives--;
      this.#serve();
      return 0;
    }
    return this.#hit();
  }

  #hit(): number {
    const ball = this.#ball;
    const row = Math.floor((ball.y - WALL_TOP) / BRICK_HEIGHT);
    const brick = row * COLUMNS + Math.floor(ball.x / BRICK_WIDTH);
    if (row < 0 || row >= ROWS || this.#bricks[brick] !== 1) return 0;
    this.#bricks[brick] = 0;
    ball.dy = -ball.dy;
    return ROWS - row;
  }

  #draw(): void {
    this.screen.fill(0);
    this.#fill(0, 0, SIZE, 1, EDGE);
    this.#fill(0, 0, 1, SIZE, EDGE);
    this.#fill(SIZE - 1, 0, 1, SIZE, EDGE);
    for (let life = 0; life < this.#lives; life++) this.#fill(4 + 4 * life, 5, 2, 5, EDGE);
    for (const [i, brick] of this.#bricks.entries()) {
      const row = Math.floor(i / COLUMNS);
      if (brick === 1) this.#fill((i % COLUMNS) * BRICK_WIDTH, WALL_TOP + row * BRICK_HEIGHT, BRICK_WIDTH - 1, BRICK_HEIGHT - 1, SHADES[row] as number);
    }
    this.#fill(Math.round(this.#paddle), PADDLE_Y, PADDLE_WIDTH, 2, PADDLE);
    this.#fill(Math.round(this.#ball.x), Math.round(this.#ball.y), BALL_SIZE, BALL_SIZE, BALL);
  }

  #fill(x: number, y: number, width: number, height: number, shade: number): void {
    for (let row = Math.max(0, y); row < Math.min(SIZE, y + height); row++) this.screen.fill(shade, row * SIZE + x, row * SIZE + x + width);
  }
}
