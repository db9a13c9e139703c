#!/usr/bin/env python3
"""Makes the TorchScript encoders of inputs/fashion.

    usage: make_encoders.py OUTPUT [DATA] [--epochs N]

OUTPUT is a folder that receives convnet.pt, trained on the training part of Fashion-MNIST, convnet-random.pt, the same
network as it was before, and resnet18-random.pt and mobilenet-random.pt, architectures of torchvision with random
weights. DATA as for make_tables.py. Needs numpy, PyTorch and torchvision, and some minutes on two cores.

How any encoder becomes such a file: a module that takes images x channels x height x width and gives one tensor, in
eval mode, traced on an example. What the images are beforehand (size, mean, standard deviation) stands in embed.toml.
"""

import argparse
import os

import torch
import torchvision

from make_tables import DATA, read_part

SEED = 42
MEAN, STD = 0.2860, 0.3530  # of the training part


class ConvNet(torch.nn.Module):
    """Three convolutions and a pooled row of 128 numbers; classes are told from it by one linear layer."""

    def __init__(self):
        super().__init__()
        layers, inputs = [], 1
        for outputs, stride in ((32, 2), (64, 2), (128, 1)):
            layers += [torch.nn.Conv2d(inputs, outputs, 3, stride, padding=1), torch.nn.BatchNorm2d(outputs),
                       torch.nn.ReLU()]
            inputs = outputs
        layers += [torch.nn.AdaptiveAvgPool2d(1)]
        self.features = torch.nn.Sequential(*layers, torch.nn.Flatten())

    def forward(self, images):
        return self.features(images)


def save(module, path, *shape):
    torch.jit.trace(module.eval(), torch.zeros(1, *shape)).save(path)


def train(net, images, labels, epochs):
    """Adam, batches of 128, images mirrored at random; prints the share of the last epoch that was right."""
    head = torch.nn.Linear(128, 10)
    steps = epochs * (len(images) // 128)
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    net.train()
    for epoch in range(epochs):
        right = 0
        order = torch.randperm(len(images))
        for start in range(0, len(images) - 127, 128):
            which = order[start:start + 128]
            batch = images[which]
            batch = torch.where(torch.rand(128, 1, 1, 1) < 0.5, batch.flip(3), batch)
            scores = head(net(batch))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, labels[which]).backward()
            optimizer.step()
            schedule.step()
            right += int((scores.argmax(1) == labels[which]).sum())
        print(f"convnet: epoch {epoch + 1} of {epochs}, {100 * right / (len(images) // 128 * 128):.1f} % right",
              flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("data", nargs="?", default=DATA)
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()
    os.makedirs(arguments.output, exist_ok=True)
    torch.manual_seed(SEED)

    for name, architecture in (("resnet18", torchvision.models.resnet18), ("mobilenet", torchvision.models.mobilenet_v2)):
        net = architecture(weights=None)
        if name == "resnet18":
            net.fc = torch.nn.Identity()
        else:
            net.classifier = torch.nn.Identity()
        save(net, os.path.join(arguments.output, f"{name}-random.pt"), 3, 64, 64)

    net = ConvNet()
    save(net, os.path.join(arguments.output, "convnet-random.pt"), 1, 28, 28)
    images, labels = read_part(arguments.data, "train")
    images = (torch.from_numpy(images.copy()).float().unsqueeze(1) / 255 - MEAN) / STD
    train(net, images, torch.from_numpy(labels.copy()).long(), arguments.epochs)
    save(net, os.path.join(arguments.output, "convnet.pt"), 1, 28, 28)


if __name__ == "__main__":
    main()
