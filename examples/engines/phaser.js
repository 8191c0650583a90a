// The game in Phaser: its scene's `update` plays a frame, learns from a batch, and draws.
import * as Phaser from "phaser";
import { Catch, HEIGHT, WIDTH, warmUp } from "./catch.js";

const CELL = 28;
warmUp();
const game = new Catch(7);

class Learning extends Phaser.Scene {
  create() {
    this.ball = this.add.circle(0, 0, CELL / 2, 0xf2c14e);
    this.paddle = this.add.rectangle(0, (HEIGHT - 0.5) * CELL, 3 * CELL, CELL / 2, 0x5fb0e5);
    this.text = this.add.text(8, 8, "", { fontFamily: "sans-serif", fontSize: "18px", color: "#dfe6f0" });
  }

  update() {
    game.frame();
    this.ball.setPosition((game.ball.x + 0.5) * CELL, (game.ball.y + 0.5) * CELL);
    this.paddle.setX((game.paddle + 0.5) * CELL);
    this.text.setText(`caught ${game.caught}, missed ${game.missed}, ${game.memory.size} transitions`);
  }
}

new Phaser.Game({ type: Phaser.AUTO, width: WIDTH * CELL, height: HEIGHT * CELL, backgroundColor: "#10141c", scene: Learning });

// For tests, and for the curious in the console.
globalThis.game = game;
